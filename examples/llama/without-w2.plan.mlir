// Megatron's plan without its entry for w2: tp redistributes what w2 reads and
// makes (docs/explain.md).
#mesh = #tp.mesh<"tp" = 4>
tp.plan @llama on #mesh["tp"] {
  tp.parallelize "tok_embeddings" with rowwise {input_layouts = [replicate]}
  tp.parallelize "layers.*.attention.wq" with colwise
  tp.parallelize "layers.*.attention.wk" with colwise
  tp.parallelize "layers.*.attention.wv" with colwise
  tp.parallelize "layers.*.attention.wo" with rowwise
  tp.parallelize "layers.*.feed_forward.w1" with colwise
  tp.parallelize "layers.*.feed_forward.w3" with colwise
  tp.parallelize "output" with colwise
  tp.result 0 shard<2>
}

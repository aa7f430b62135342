// Megatron's tensor parallelism: every attention and feed-forward block is a
// column-parallel pair of layers and a row-parallel one, with one all-reduce.
// The vocabulary is split at both ends; logits are gathered.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @llama on #mesh["tp"] {
  tp.parallelize "tok_embeddings" with rowwise {input_layouts = [replicate]}
  tp.parallelize "layers.*.attention.wq" with colwise
  tp.parallelize "layers.*.attention.wk" with colwise
  tp.parallelize "layers.*.attention.wv" with colwise
  tp.parallelize "layers.*.attention.wo" with rowwise
  tp.parallelize "layers.*.feed_forward.w1" with colwise
  tp.parallelize "layers.*.feed_forward.w3" with colwise
  tp.parallelize "layers.*.feed_forward.w2" with rowwise
  tp.parallelize "output" with colwise {output_layouts = [replicate]}
  tp.result 0 replicate
}

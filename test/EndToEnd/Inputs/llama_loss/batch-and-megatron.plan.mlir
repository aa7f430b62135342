// The batch on one axis, Megatron's tensor parallelism on the other.
#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
tp.plan @batch on #mesh["dp"] {
  tp.argument "tokens" shard<0>
  tp.argument "labels" shard<0>
}
tp.plan @llama_loss on #mesh["tp"] {
  tp.parallelize "tok_embeddings" with rowwise {input_layouts = [replicate]}
  tp.parallelize "layers.*.attention.wq" with colwise
  tp.parallelize "layers.*.attention.wk" with colwise
  tp.parallelize "layers.*.attention.wv" with colwise
  tp.parallelize "layers.*.attention.wo" with rowwise
  tp.parallelize "layers.*.feed_forward.w1" with colwise
  tp.parallelize "layers.*.feed_forward.w3" with colwise
  tp.parallelize "layers.*.feed_forward.w2" with rowwise
  tp.parallelize "output" with colwise
}

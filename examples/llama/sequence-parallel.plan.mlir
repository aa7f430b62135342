// Megatron's tensor parallelism with sequence parallelism: between the blocks
// activations are sharded along the sequence, so that norms and residual sums
// are split too. Every all-reduce becomes a reduce-scatter and an all-gather.
// The vocabulary is split at both ends; logits stay sharded.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @llama on #mesh["tp"] {
  tp.parallelize "tok_embeddings" with rowwise {input_layouts = [replicate], output_layouts = [shard<1>]}
  tp.parallelize "layers.*.attention_norm" with sequence_parallel
  tp.parallelize "layers.*.attention" with prepare_module_input {input_layouts = [shard<1>, none, none], desired_input_layouts = [replicate, none, none]}
  tp.parallelize "layers.*.attention.wq" with colwise
  tp.parallelize "layers.*.attention.wk" with colwise
  tp.parallelize "layers.*.attention.wv" with colwise
  tp.parallelize "layers.*.attention.wo" with rowwise {output_layouts = [shard<1>]}
  tp.parallelize "layers.*.ffn_norm" with sequence_parallel
  tp.parallelize "layers.*.feed_forward" with prepare_module_input {input_layouts = [shard<1>], desired_input_layouts = [replicate]}
  tp.parallelize "layers.*.feed_forward.w1" with colwise
  tp.parallelize "layers.*.feed_forward.w3" with colwise
  tp.parallelize "layers.*.feed_forward.w2" with rowwise {output_layouts = [shard<1>]}
  tp.parallelize "norm" with sequence_parallel
  tp.parallelize "output" with colwise {input_layouts = [shard<1>]}
  tp.result 0 shard<2>
}

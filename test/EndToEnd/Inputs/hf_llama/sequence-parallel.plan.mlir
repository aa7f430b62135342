// Megatron's tensor parallelism with sequence parallelism: between the blocks
// activations are sharded along the sequence, so that norms and residual sums
// are split too. Every all-reduce becomes a reduce-scatter and an all-gather.
// The vocabulary is split at both ends; logits stay sharded.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @llama on #mesh["tp"] {
  tp.parallelize "model.embed_tokens" with rowwise {input_layouts = [replicate], output_layouts = [shard<1>]}
  tp.parallelize "model.layers.*.input_layernorm" with sequence_parallel
  tp.parallelize "model.layers.*.self_attn" with prepare_module_input {input_layouts = [shard<1>, none, none], desired_input_layouts = [replicate, none, none]}
  tp.parallelize "model.layers.*.self_attn.q_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.k_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.v_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.o_proj" with rowwise {output_layouts = [shard<1>]}
  tp.parallelize "model.layers.*.post_attention_layernorm" with sequence_parallel
  tp.parallelize "model.layers.*.mlp" with prepare_module_input {input_layouts = [shard<1>], desired_input_layouts = [replicate]}
  tp.parallelize "model.layers.*.mlp.gate_proj" with colwise
  tp.parallelize "model.layers.*.mlp.up_proj" with colwise
  tp.parallelize "model.layers.*.mlp.down_proj" with rowwise {output_layouts = [shard<1>]}
  tp.parallelize "model.norm" with sequence_parallel
  tp.parallelize "lm_head" with colwise {input_layouts = [shard<1>]}
  tp.result 0 shard<2>
}

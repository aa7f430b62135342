// Megatron's tensor parallelism: every attention and feed-forward block is a
// column-parallel pair of layers and a row-parallel one, with one all-reduce.
// The vocabulary is split at both ends; logits stay sharded.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @llama on #mesh["tp"] {
  tp.parallelize "model.embed_tokens" with rowwise {input_layouts = [replicate]}
  tp.parallelize "model.layers.*.self_attn.q_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.k_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.v_proj" with colwise
  tp.parallelize "model.layers.*.self_attn.o_proj" with rowwise
  tp.parallelize "model.layers.*.mlp.gate_proj" with colwise
  tp.parallelize "model.layers.*.mlp.up_proj" with colwise
  tp.parallelize "model.layers.*.mlp.down_proj" with rowwise
  tp.parallelize "lm_head" with colwise
  tp.result 0 shard<2>
}

// Megatron's tensor parallelism for GPT-2: the fused projection of queries, keys
// and values is column parallel, every one of the three by its heads.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @gpt2 on #mesh["tp"] {
  tp.parallelize "transformer.h.*.attn.c_attn" with colwise
  tp.parallelize "transformer.h.*.attn.c_proj" with rowwise
  tp.parallelize "transformer.h.*.mlp.c_fc" with colwise
  tp.parallelize "transformer.h.*.mlp.c_proj" with rowwise
}

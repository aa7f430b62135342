// Megatron's tensor parallelism for BERT: attention and feed-forward are pairs
// of a column-parallel and a row-parallel layer, each with one all-reduce; the
// 30522 rows of the word embedding are split over the ranks.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @minilm on #mesh["tp"] {
  tp.parallelize "embeddings.word_embeddings" with rowwise {input_layouts = [replicate]}
  tp.parallelize "encoder.layer.*.attention.self.query" with colwise
  tp.parallelize "encoder.layer.*.attention.self.key" with colwise
  tp.parallelize "encoder.layer.*.attention.self.value" with colwise
  tp.parallelize "encoder.layer.*.attention.output.dense" with rowwise
  tp.parallelize "encoder.layer.*.intermediate.dense" with colwise
  tp.parallelize "encoder.layer.*.output.dense" with rowwise
  tp.result 0 replicate
}

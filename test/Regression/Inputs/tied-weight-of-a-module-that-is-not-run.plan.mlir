#mesh = #tp.mesh<"tp" = 2>
tp.plan @tied on #mesh["tp"] {
  tp.parallelize "embed" with embedding_rowwise
  tp.parallelize "head" with colwise_gather_output
}

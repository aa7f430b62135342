// What the annotations of shard-mlp.mlir say.
#mesh = #tp.mesh<"tp" = 4>
tp.plan @mlp on #mesh["tp"] {
  tp.parallelize "w1" with colwise
  tp.parallelize "w2" with rowwise
  tp.argument "x" replicate
  tp.result 0 replicate
}

// What the annotations of shard-two-axes.mlir say.
#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
tp.plan @data on #mesh["dp"] {
  tp.argument "x" shard<0>
  tp.result "y" shard<0>
  tp.result "hidden" shard<0>
}
tp.plan @tensor on #mesh["tp"] {
  tp.argument "w1.weight" shard<0>
  tp.argument "w2.weight" shard<1>
  tp.result "y" replicate
  tp.result "hidden" shard<0>
}

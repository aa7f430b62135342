// What the annotations of shard-attention.mlir say.
#mesh = #tp.mesh<"tp" = 2>
tp.plan @attention on #mesh["tp"] {
  tp.argument "wq" shard<1>
  tp.argument "wk" shard<1>
  tp.argument "wv" shard<1>
  tp.argument "wo" shard<0>
  tp.result "y" replicate
}

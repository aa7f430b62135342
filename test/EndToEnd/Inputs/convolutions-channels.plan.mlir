#mesh = #tp.mesh<"tp" = 2>
tp.plan @convolutions on #mesh["tp"] {
  tp.argument "w1" shard<0>
  tp.argument "w2" shard<0>
  tp.argument "w3" shard<1>
  tp.result 0 shard<1>
  tp.result 1 shard<1>
}

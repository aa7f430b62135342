#mesh = #tp.mesh<"tp" = 2>
tp.plan @pad on #mesh["tp"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
  tp.result 0 replicate
  tp.result 1 shard<1>
}

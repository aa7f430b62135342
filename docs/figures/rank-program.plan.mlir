#mesh = #tp.mesh<"tp" = 2>
tp.plan @block on #mesh["tp"] {
  tp.argument "w1" shard<1>
  tp.argument "w2" shard<0>
  tp.result 0 replicate
}

#mesh = #tp.mesh<"tp" = 2>
tp.plan @sums on #mesh["tp"] {
  tp.argument "x" shard<1>
  tp.result 0 replicate
  tp.result 1 replicate
}

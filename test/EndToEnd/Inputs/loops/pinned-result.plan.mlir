#mesh = #tp.mesh<"tp" = 2>
tp.plan @plan on #mesh["tp"] {
  tp.argument "a" shard<2>
  tp.argument "b" shard<1>
  tp.argument 2 replicate
  tp.result 0 shard<1>
}

#mesh = #tp.mesh<"tp" = 2>
tp.plan @plan on #mesh["tp"] {
  tp.argument "a" shard<0>
  tp.argument "b" shard<1>
}

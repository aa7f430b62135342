#mesh = #tp.mesh<"tp" = 3>
tp.plan @uneven on #mesh["tp"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
  tp.argument "heads" shard<1>
  tp.argument "wo" shard<0>
  tp.argument "inner" shard<2>
  tp.argument "wi" shard<1>
}

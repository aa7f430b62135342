#mesh = #tp.mesh<"tp" = 2>
tp.plan @stack on #mesh["tp"] {
  tp.argument "layers.up.weight" shard<2>
  tp.result "y" replicate
}

#mesh = #tp.mesh<"dp" = 2>
tp.plan @plan on #mesh["dp"] {
  tp.fully_shard "" {keep = true}
  tp.argument "x" shard<0>
}

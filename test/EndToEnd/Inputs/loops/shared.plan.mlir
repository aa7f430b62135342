#mesh = #tp.mesh<"dp" = 2>
tp.plan @plan on #mesh["dp"] {
  tp.fully_shard ""
  tp.argument "x" shard<0>
  tp.argument "m" shard<1>
  tp.result 0 shard<0>
}

// On a 2x2 mesh a tensor changes from rows over "a" and columns over "b" to rows
// over "b" and columns over "a": ranks 1 and 2 exchange what they hold. And a
// dimension over both axes changes their order.
//
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=6,10 %t.v.npy=10
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.4.tp --verify
// RUN: tp-run %t.4.tp --ranks=4 --poison --input=x=@%t.x.npy --input=v=@%t.v.npy --expected-output=y=@%t.x.npy --expected-output=u=@%t.v.npy

//--- plan.mlir
#mesh = #tp.mesh<"a" = 2, "b" = 2>
tp.plan @a on #mesh["a"] {
  tp.argument "x" shard<0>
  tp.argument "v" shard<0>
  tp.result 0 shard<1>
  tp.result 1 replicate
}
tp.plan @b on #mesh["b"] {
  tp.argument "x" shard<1>
  tp.argument "v" replicate
  tp.result 0 shard<0>
  tp.result 1 shard<0>
}
//--- model.mlir
func.func @main(%x: tensor<6x10xf32> {tp.name = "x"}, %v: tensor<10xf32> {tp.name = "v"}) -> (tensor<6x10xf32> {tp.name = "y"}, tensor<10xf32> {tp.name = "u"}) {
  return %x, %v : tensor<6x10xf32>, tensor<10xf32>
}

// An argument that nothing reads has a layout as any other, and is not asked
// for.
//
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=6,10
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.3.tp --verify
// RUN: tp-run %t.3.tp --ranks=3 --poison --input=x=@%t.x.npy --expected-output=y=@%t.x.npy

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 3>
tp.plan @p on #mesh["tp"] {
  tp.argument "unused" shard<0>
  tp.argument "x" shard<1>
  tp.result 0 shard<0>
}
//--- model.mlir
func.func @main(%unused: tensor<5x4xf32> {tp.name = "unused"}, %x: tensor<6x10xf32> {tp.name = "x"}) -> (tensor<6x10xf32> {tp.name = "y"}) {
  return %x : tensor<6x10xf32>
}

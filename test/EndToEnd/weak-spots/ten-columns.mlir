// 10 columns over 4 devices: 3, 3, 3 and 1. Nothing is gathered for them, and
// what lies behind the tenth is in no sum.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w=@%t.w.npy
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=5,6 %t.w.npy=6,10
// RUN: tp-compile %t/model.mlir -o %t.1.tp --verify
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=s=@%t.s.npy
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.4.tp --report=%t.txt --verify
// RUN: %{run} %t.4.tp --ranks=4 --expected-output=y=@%t.y.npy --expected-output=s=@%t.s.npy
// RUN: FileCheck %s --input-file=%t.txt

// CHECK-NOT: all_gather
// CHECK:     all_reduce
// CHECK-NOT: all_gather

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 4>
tp.plan @p on #mesh["tp"] {
  tp.argument "w" shard<1>
  tp.result 0 shard<1>
  tp.result 1 replicate
}
//--- model.mlir
func.func @main(%x: tensor<5x6xf32> {tp.name = "x"}, %w: tensor<6x10xf32> {tp.name = "w"}) -> (tensor<5x10xf32> {tp.name = "y"}, tensor<5xf32> {tp.name = "s"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x10xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<5x10xf32>) -> tensor<5x10xf32>
  %y = linalg.matmul ins(%x, %w : tensor<5x6xf32>, tensor<6x10xf32>) outs(%init : tensor<5x10xf32>) -> tensor<5x10xf32>
  %e1 = tensor.empty() : tensor<5xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<5x10xf32>) outs(%init1 : tensor<5xf32>) dimensions = [1]
  return %y, %s : tensor<5x10xf32>, tensor<5xf32>
}

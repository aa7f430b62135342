// RUN: tp-opt %s --tp-legalize --tp-partition-pipeline | FileCheck %s
// RUN: tp-compile %s --verify -o %t.tp

// Rows that are written with gaps, as an odd number of steps of JAX's
// associative_scan are: every rank writes those of its part of the batch. Once
// each gathered the batch.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     tp.all_gather
// CHECK:         return

#mesh = #tp.mesh<"dp" = 2>
tp.plan @p on #mesh["dp"] {
  tp.argument "x" shard<0>
}
func.func @main(%x: tensor<4x2x16xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2x16xf32>
  %y = linalg.exp ins(%x : tensor<4x2x16xf32>) outs(%e : tensor<4x2x16xf32>) -> tensor<4x2x16xf32>
  %e3 = tensor.empty() : tensor<4x3x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
  %r = tensor.insert_slice %y into %z[0, 0, 0] [4, 2, 16] [1, 2, 1] : tensor<4x2x16xf32> into tensor<4x3x16xf32>
  return %r : tensor<4x3x16xf32>
}

// math.isinf and math.isnormal, which upstream cannot lower, on 2 and 3 ranks,
// against the same by comparisons.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t --upstream=%S/Inputs/math-tests.mlir | FileCheck %s
// CHECK: 12 elements equal in 5 programs

func.func @main(%x: tensor<6xf32> {tp.name = "x"}) -> (tensor<6xi1>, tensor<6xi1>) {
  %scale = arith.constant dense<[0x7F800000, 0xFF800000, 1.0e-40, 0x7FC00000, 0.0, 1.0]> : tensor<6xf32>
  %one = arith.constant dense<1.0> : tensor<6xf32>
  %s = math.absf %x : tensor<6xf32>
  %p = arith.addf %s, %one : tensor<6xf32>
  %y = arith.mulf %p, %scale : tensor<6xf32>
  %0 = math.isinf %y : tensor<6xf32>
  %1 = math.isnormal %y : tensor<6xf32>
  return %0, %1 : tensor<6xi1>, tensor<6xi1>
}

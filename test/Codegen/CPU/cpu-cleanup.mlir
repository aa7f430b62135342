// RUN: tp-opt %s --tp-cpu-cleanup | FileCheck %s

// Reshapes that cancel go, equal ops merge, and a contraction of bf16 stays as
// it is.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     tensor.expand_shape
// CHECK-NOT:     tensor.collapse_shape
// CHECK-NOT:     arith.extf
// CHECK:         linalg.matmul
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<6x8xbf16>, tensor<8x5xbf16>)
// CHECK-NOT:     linalg.matmul
func.func @main(%x: tensor<6x8xbf16>, %w: tensor<8x5xbf16>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xbf16> into tensor<2x3x8xbf16>
  %c = tensor.collapse_shape %e [[0, 1], [2]] : tensor<2x3x8xbf16> into tensor<6x8xbf16>
  %0 = tensor.empty() : tensor<6x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%c, %w : tensor<6x8xbf16>, tensor<8x5xbf16>) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %2 = tensor.empty() : tensor<6x5xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %z = linalg.matmul ins(%c, %w : tensor<6x8xbf16>, tensor<8x5xbf16>) outs(%3 : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y, %z : tensor<6x5xf32>, tensor<6x5xf32>
}

// A contraction of two types reads operands widened before.

// CHECK-LABEL: func.func @unlike
// CHECK-COUNT-2: arith.extf
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<6x8xf32>, tensor<8x5xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     arith.extf
func.func @unlike(%x: tensor<6x8xbf16>, %w: tensor<8x5xf16>) -> tensor<6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x8xbf16>, tensor<8x5xf16>) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// RUN: tp-opt %s --tp-normalize --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Ops keep their locations. What was shared and is not any more, and views of
// arguments, are located where they are read.

// CHECK: tensor.expand_shape %arg0 {{.*}} loc("b"("exp"))
// CHECK: tensor.empty() : tensor<2x3xf32> loc("a"("neg"))
// CHECK: linalg.generic
// CHECK: -> tensor<2x3xf32> loc("a"("neg"))
// CHECK: tensor.empty() : tensor<2x3xf32> loc("first"("view"))
// CHECK: linalg.generic
// CHECK: -> tensor<2x3xf32> loc("b"("exp"))
// CHECK: tensor.collapse_shape {{.*}} loc("b"("exp"))
func.func @main(%x: tensor<6xf32> loc("first"("op")), %y: tensor<2x3xf32> loc("first"("op"))) -> (tensor<2x3xf32>, tensor<6xf32>) {
  %e = tensor.empty() : tensor<2x3xf32> loc("first"("empty"))
  %a = linalg.negf ins(%y : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32> loc("a"("neg"))
  %flat = tensor.collapse_shape %e [[0, 1]] : tensor<2x3xf32> into tensor<6xf32> loc("first"("view"))
  %b = linalg.exp ins(%x : tensor<6xf32>) outs(%flat : tensor<6xf32>) -> tensor<6xf32> loc("b"("exp"))
  return %a, %b : tensor<2x3xf32>, tensor<6xf32>
} loc("first"("op"))

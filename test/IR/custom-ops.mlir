// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// CHECK: tp.rule "my.matmul" "b i k, k j -> b i j" {reduction = ["k"]}
tp.rule "my.matmul" "b i k, k j -> b i j" {reduction = ["k"]}
// CHECK: tp.rule "my.top" "row_1 _ k -> row_1" {combine = "max", reduction = ["k"]}
tp.rule "my.top" "row_1 _ k -> row_1" {reduction = ["k"], combine = "max"}
// CHECK: tp.rule "my.fill" " -> _"
tp.rule "my.fill" " -> _"

// CHECK-LABEL: @custom
func.func @custom(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // CHECK: tp.custom "my.matmul"(%{{.*}}, %{{.*}}) {op_attributes = {dims = [1, 2], scale = 2.000000e+00 : f64}, reduction = ["k"], rule = "i k, k j -> i j"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %0 = tp.custom "my.matmul"(%a, %b) {op_attributes = {scale = 2.0 : f64, dims = [1, 2]}, reduction = ["k"], rule = "i k, k j -> i j"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // CHECK: tp.custom "my.fill"() {rule = " -> _"} : () -> tensor<3xf32>
  %1 = tp.custom "my.fill"() {rule = " -> _"} : () -> tensor<3xf32>
  // CHECK: tp.custom "my.split"(%{{.*}}) {valid = [array<i64: 3, 1>], valid_dims = [array<i64: 0, -1>, array<i64: 0>, array<i64: -1>]} : (tensor<3x8xf32>) -> (tensor<3xf32>, tensor<8xf32>)
  %e = tensor.empty() : tensor<3x8xf32>
  %2:2 = tp.custom "my.split"(%e) {valid = [array<i64: 3, 1>], valid_dims = [array<i64: 0, -1>, array<i64: 0>, array<i64: -1>]} : (tensor<3x8xf32>) -> (tensor<3xf32>, tensor<8xf32>)
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: @call
func.func @call(%a: memref<4x8xf32>, %b: memref<8x6xf32>) -> memref<4x6xf32> {
  %0 = tp.alloc : memref<4x6xf32>
  // CHECK: tp.call "my.matmul"(%{{.*}}, %{{.*}}) into(%{{.*}}) {op_attributes = {scale = 2.000000e+00 : f64}} : (memref<4x8xf32>, memref<8x6xf32>) into(memref<4x6xf32>)
  tp.call "my.matmul"(%a, %b) into (%0) {op_attributes = {scale = 2.0 : f64}} : (memref<4x8xf32>, memref<8x6xf32>) into (memref<4x6xf32>)
  return %0 : memref<4x6xf32>
}

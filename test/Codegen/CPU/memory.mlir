// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// exp overwrites the product it reads, the second product takes the first's
// place only after exp is done: two blocks of 4096 bytes are live at once.

// CHECK-LABEL: "name":"chain"
// CHECK:       "arena_bytes":8192,"peak_live_bytes":8192,
func.func @main(%x: tensor<32x32xf32> {tp.name = "chain"}, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = linalg.exp ins(%0 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = linalg.matmul ins(%1, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = linalg.exp ins(%2 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %4 = linalg.matmul ins(%3, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %4 : tensor<32x32xf32>
}

// -----

// A transposed read of the dying operand crosses places already written: no
// overwriting.

// CHECK-LABEL: "name":"crossed"
// CHECK:       "arena_bytes":8192,
func.func @main(%x: tensor<32x32xf32> {tp.name = "crossed"}, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %0 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x32xf32>
  %2 = linalg.matmul ins(%1, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}

// -----

// A large splat is never in memory.

// CHECK-LABEL: "name":"splat"
// CHECK:       "arena_bytes":0,{{.*}}"constants_bytes":0,
func.func @main(%x: tensor<4096x4096xf32> {tp.name = "splat"}) -> tensor<4096x4096xf32> {
  %c = arith.constant dense<2.0> : tensor<4096x4096xf32>
  %e = tensor.empty() : tensor<4096x4096xf32>
  %0 = linalg.mul ins(%x, %c : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%e : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// RUN: tp-opt %s --split-input-file --tp-assign-storage --tp-form-kernels | FileCheck %s

// A sum that is read transposed, as the gradient of experts' weights by their
// update, is written so: the product is turned round. The sum is scaled first.
// CHECK-LABEL: func.func @update(
// CHECK-SAME:    %[[X:.*]]: memref<4x6x16xf32>, %[[G:.*]]: memref<4x6x24xf32>, %[[W:.*]]: memref<4x24x16xf32>)
// CHECK:         %[[GT:.*]] = memref.reinterpret_cast %[[G]] to offset: [0], sizes: [4, 24, 6], strides: [144, 1, 24]
// CHECK:         %[[SUM:.*]] = tp.alloc : memref<4x16x24xf32, strided<[384, 1, 16]>>
// CHECK:         %[[WRITTEN:.*]] = memref.reinterpret_cast %[[SUM]] to offset: [0], sizes: [4, 24, 16], strides: [384, 16, 1]
// CHECK:         tp.gemm %[[GT]], %[[X]] into %[[WRITTEN]]
// CHECK:         tp.kernel reads(%[[W]], %[[SUM]]
#a = affine_map<(e, m, n, k) -> (e, k, m)>
#b = affine_map<(e, m, n, k) -> (e, k, n)>
#c = affine_map<(e, m, n, k) -> (e, m, n)>
#id = affine_map<(e, n, m) -> (e, n, m)>
#turned = affine_map<(e, n, m) -> (e, m, n)>
func.func @update(%x: tensor<4x6x16xf32>, %g: tensor<4x6x24xf32>, %w: tensor<4x24x16xf32>) -> tensor<4x24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %rate = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<4x16x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %g : tensor<4x6x16xf32>, tensor<4x6x24xf32>) outs(%1 : tensor<4x16x24xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x16x24xf32>
  %3 = tensor.empty() : tensor<4x24x16xf32>
  %4 = linalg.transpose ins(%2 : tensor<4x16x24xf32>) outs(%3 : tensor<4x24x16xf32>) permutation = [0, 2, 1]
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%4 : tensor<4x24x16xf32>) outs(%3 : tensor<4x24x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.mulf %in, %rate : f32
    linalg.yield %r : f32
  } -> tensor<4x24x16xf32>
  %6 = linalg.sub ins(%w, %5 : tensor<4x24x16xf32>, tensor<4x24x16xf32>) outs(%3 : tensor<4x24x16xf32>) -> tensor<4x24x16xf32>
  return %6 : tensor<4x24x16xf32>
}

// -----

// Dimensions of one size are told apart by their strides. A map that turns the
// sum is as good as a view.
// CHECK-LABEL: func.func @equal_sizes(
// CHECK-SAME:    %[[X:.*]]: memref<8x8x8xf32>, %[[G:.*]]: memref<8x8x8xf32>, %[[W:.*]]: memref<8x8x8xf32>)
// CHECK:         %[[GT:.*]] = memref.reinterpret_cast %[[G]] to offset: [0], sizes: [8, 8, 8], strides: [64, 1, 8]
// CHECK:         tp.gemm %[[GT]], %[[X]] into %
#a = affine_map<(e, m, n, k) -> (e, k, m)>
#b = affine_map<(e, m, n, k) -> (e, k, n)>
#c = affine_map<(e, m, n, k) -> (e, m, n)>
#id = affine_map<(e, n, m) -> (e, n, m)>
#turned = affine_map<(e, n, m) -> (e, m, n)>
func.func @equal_sizes(%x: tensor<8x8x8xf32>, %g: tensor<8x8x8xf32>, %w: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x8x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %g : tensor<8x8x8xf32>, tensor<8x8x8xf32>) outs(%1 : tensor<8x8x8xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8x8xf32>
  %3 = linalg.generic {indexing_maps = [#turned, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%2, %w : tensor<8x8x8xf32>, tensor<8x8x8xf32>) outs(%0 : tensor<8x8x8xf32>) {
  ^bb0(%in: f32, %old: f32, %out: f32):
    %r = arith.addf %in, %old : f32
    linalg.yield %r : f32
  } -> tensor<8x8x8xf32>
  return %3 : tensor<8x8x8xf32>
}

// -----

// What is read in two orders, and what would be many small products, stay.
// CHECK-LABEL: func.func @two_readers(
// CHECK:         tp.gemm {{.*}} into %{{.*}} : {{.*}}, memref<16x24xf32>
// CHECK-LABEL: func.func @heads(
// CHECK:         tp.gemm {{.*}} into %{{.*}} : {{.*}}, memref<6x32xf32>
// CHECK-LABEL: func.func @batch_last(
// CHECK:         tp.gemm {{.*}} into %{{.*}} : {{.*}}, memref<4x16x24xf32>
#id = affine_map<(n, m) -> (n, m)>
#turned = affine_map<(n, m) -> (m, n)>
#last = affine_map<(m, n, e) -> (e, m, n)>
#own = affine_map<(m, n, e) -> (m, n, e)>
func.func @two_readers(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %w: tensor<24x16xf32>, %v: tensor<16x24xf32>) -> (tensor<24x16xf32>, tensor<16x24xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %2 = linalg.matmul ins(%x, %g : tensor<16x6xf32>, tensor<6x24xf32>) outs(%1 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %5 = linalg.add ins(%2, %v : tensor<16x24xf32>, tensor<16x24xf32>) outs(%0 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %3 = tensor.empty() : tensor<24x16xf32>
  %4 = linalg.generic {indexing_maps = [#turned, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%2, %w : tensor<16x24xf32>, tensor<24x16xf32>) outs(%3 : tensor<24x16xf32>) {
  ^bb0(%in: f32, %old: f32, %out: f32):
    %r = arith.addf %in, %old : f32
    linalg.yield %r : f32
  } -> tensor<24x16xf32>
  return %4, %5 : tensor<24x16xf32>, tensor<16x24xf32>
}
func.func @heads(%x: tensor<6x16xf32>, %g: tensor<16x32xf32>, %w: tensor<4x8x6xf32>) -> tensor<4x8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x32xf32>) -> tensor<6x32xf32>
  %2 = linalg.matmul ins(%x, %g : tensor<6x16xf32>, tensor<16x32xf32>) outs(%1 : tensor<6x32xf32>) -> tensor<6x32xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2]] output_shape [6, 4, 8] : tensor<6x32xf32> into tensor<6x4x8xf32>
  %4 = tensor.empty() : tensor<4x8x6xf32>
  %5 = linalg.transpose ins(%3 : tensor<6x4x8xf32>) outs(%4 : tensor<4x8x6xf32>) permutation = [1, 2, 0]
  %6 = linalg.add ins(%5, %w : tensor<4x8x6xf32>, tensor<4x8x6xf32>) outs(%4 : tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  return %6 : tensor<4x8x6xf32>
}
func.func @batch_last(%x: tensor<4x16x6xf32>, %g: tensor<4x6x24xf32>, %w: tensor<16x24x4xf32>) -> tensor<16x24x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x16x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %2 = linalg.batch_matmul ins(%x, %g : tensor<4x16x6xf32>, tensor<4x6x24xf32>) outs(%1 : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %3 = tensor.empty() : tensor<16x24x4xf32>
  %4 = linalg.generic {indexing_maps = [#last, #own, #own], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%2, %w : tensor<4x16x24xf32>, tensor<16x24x4xf32>) outs(%3 : tensor<16x24x4xf32>) {
  ^bb0(%in: f32, %old: f32, %out: f32):
    %r = arith.addf %in, %old : f32
    linalg.yield %r : f32
  } -> tensor<16x24x4xf32>
  return %4 : tensor<16x24x4xf32>
}

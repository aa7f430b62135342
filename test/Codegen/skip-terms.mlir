// RUN: tp-opt %s --split-input-file --tp-skip-rows | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-skip-rows --tp-assign-storage --tp-form-kernels | FileCheck %s --check-prefix=GEMM
// RUN: tp-opt %s --split-input-file --tp-skip-rows=target=cuda | FileCheck %s --check-prefix=CUDA

// CUDA-NOT: tensor<4x6xi1>, {{.*}}outs({{.*}}tensor<4x16x24xf32>)

// What experts get and the gradient of what they make are selected by one
// condition, which one of them reads transposed and one as a view. Neither select
// is left: what is not chosen is not read.
// CHECK-LABEL: func.func @gradient
// CHECK-SAME:    %[[X:.*]]: tensor<6x16xf32>, %[[G:.*]]: tensor<4x6x24xf32>, %[[CHOSEN:.*]]: tensor<6x4xi1>)
// CHECK-NOT:     arith.select %{{.*}}, %{{.*}}, %cst
// CHECK:         %[[TERMS:.*]] = linalg.generic {{.*}} ins(%[[CHOSEN]] : tensor<6x4xi1>) outs(%{{.*}} : tensor<4x6xi1>)
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]} ins({{.*}}, %[[TERMS]] : tensor<4x6x16xf32>, tensor<4x6x24xf32>, tensor<4x6xi1>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[COUNTS:.*]]: i1, %[[OUT:.*]]: f32):
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[OUT]], %[[P]]
// CHECK-NEXT:      %[[R:.*]] = arith.select %[[COUNTS]], %[[S]], %[[OUT]]
// CHECK-NEXT:      linalg.yield %[[R]]
// GEMM-LABEL: func.func @gradient
// GEMM-NOT:     tp.kernel
// GEMM:         tp.gemm {{.*}} terms {{.*}} : memref<4x16x6xf32, strided<[0, 1, 16]{{.*}}>>, memref<4x6x24xf32{{.*}}>, memref<4x16x24xf32{{.*}}> terms memref<4x6xi1, strided<[1, 4]
#token = affine_map<(e, t, d) -> (t, d)>
#by_token = affine_map<(e, t, d) -> (t, e)>
#column = affine_map<(e, t, d) -> (e, t, 0)>
#id = affine_map<(e, t, d) -> (e, t, d)>
#a = affine_map<(e, m, n, k) -> (e, k, m)>
#b = affine_map<(e, m, n, k) -> (e, k, n)>
#c = affine_map<(e, m, n, k) -> (e, m, n)>
func.func @gradient(%x: tensor<6x16xf32>, %g: tensor<4x6x24xf32>, %chosen: tensor<6x4xi1>) -> tensor<4x16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x6x16xf32>
  %1 = linalg.generic {indexing_maps = [#by_token, #token, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%chosen, %x : tensor<6x4xi1>, tensor<6x16xf32>) outs(%0 : tensor<4x6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x6x16xf32>
  %2 = tensor.empty() : tensor<4x6xi1>
  %3 = linalg.transpose ins(%chosen : tensor<6x4xi1>) outs(%2 : tensor<4x6xi1>) permutation = [1, 0]
  %4 = tensor.expand_shape %3 [[0], [1, 2]] output_shape [4, 6, 1] : tensor<4x6xi1> into tensor<4x6x1xi1>
  %5 = tensor.empty() : tensor<4x6x24xf32>
  %6 = linalg.generic {indexing_maps = [#column, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%4, %g : tensor<4x6x1xi1>, tensor<4x6x24xf32>) outs(%5 : tensor<4x6x24xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x6x24xf32>
  %7 = tensor.empty() : tensor<4x16x24xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %9 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%1, %6 : tensor<4x6x16xf32>, tensor<4x6x24xf32>) outs(%8 : tensor<4x16x24xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x16x24xf32>
  return %9 : tensor<4x16x24xf32>
}

// -----

// One factor that is zero is not enough: the other may be infinite.
// CHECK-LABEL: func.func @one_factor
// CHECK:         linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<16x6xf32>, tensor<6x24xf32>)
// GEMM-LABEL: func.func @one_factor
// GEMM-NOT:     terms
#row = affine_map<(m, k) -> (k)>
#id = affine_map<(m, k) -> (m, k)>
func.func @one_factor(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<6xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x6xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %x : tensor<6xi1>, tensor<16x6xf32>) outs(%0 : tensor<16x6xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<16x6xf32>
  %2 = tensor.empty() : tensor<16x24xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %4 = linalg.matmul ins(%1, %g : tensor<16x6xf32>, tensor<6x24xf32>) outs(%3 : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %4 : tensor<16x24xf32>
}

// -----

// Nor are two conditions.
// CHECK-LABEL: func.func @two_conditions
// CHECK:         linalg.matmul
// CHECK-LABEL: func.func @not_zero
// CHECK:         linalg.matmul
// CHECK-LABEL: func.func @negative_zero
// CHECK:         linalg.matmul
#row = affine_map<(m, k) -> (k)>
#column = affine_map<(k, n) -> (k)>
#id = affine_map<(m, k) -> (m, k)>
func.func @two_conditions(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<6xi1>, %other: tensor<6xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x6xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %x : tensor<6xi1>, tensor<16x6xf32>) outs(%0 : tensor<16x6xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<16x6xf32>
  %2 = tensor.empty() : tensor<6x24xf32>
  %3 = linalg.generic {indexing_maps = [#column, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%other, %g : tensor<6xi1>, tensor<6x24xf32>) outs(%2 : tensor<6x24xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x24xf32>
  %4 = tensor.empty() : tensor<16x24xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %6 = linalg.matmul ins(%1, %3 : tensor<16x6xf32>, tensor<6x24xf32>) outs(%5 : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %6 : tensor<16x24xf32>
}
func.func @not_zero(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<6xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<16x6xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %x : tensor<6xi1>, tensor<16x6xf32>) outs(%0 : tensor<16x6xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %one : f32
    linalg.yield %r : f32
  } -> tensor<16x6xf32>
  %2 = tensor.empty() : tensor<6x24xf32>
  %3 = linalg.generic {indexing_maps = [#column, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %g : tensor<6xi1>, tensor<6x24xf32>) outs(%2 : tensor<6x24xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x24xf32>
  %4 = tensor.empty() : tensor<16x24xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %6 = linalg.matmul ins(%1, %3 : tensor<16x6xf32>, tensor<6x24xf32>) outs(%5 : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %6 : tensor<16x24xf32>
}
// A sum of nothing is what it starts from; of products of zeros it is +0.
func.func @negative_zero(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<6xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  %0 = tensor.empty() : tensor<16x6xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %x : tensor<6xi1>, tensor<16x6xf32>) outs(%0 : tensor<16x6xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<16x6xf32>
  %2 = tensor.empty() : tensor<6x24xf32>
  %3 = linalg.generic {indexing_maps = [#column, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %g : tensor<6xi1>, tensor<6x24xf32>) outs(%2 : tensor<6x24xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x24xf32>
  %4 = tensor.empty() : tensor<16x24xf32>
  %5 = linalg.fill ins(%negative : f32) outs(%4 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %6 = linalg.matmul ins(%1, %3 : tensor<16x6xf32>, tensor<6x24xf32>) outs(%5 : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %6 : tensor<16x24xf32>
}

// -----

// A list of the terms of a sum over two loops, of a condition of one of them, is
// stored.
// CHECK-LABEL: func.func @inner_loop
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<3x6xi1>)
// CHECK:         arith.select {{.*}} : f32
// GEMM-LABEL: func.func @inner_loop
// GEMM:         tp.kernel {{.*}} writes(%[[LIST:.*]] : memref<3x6xi1>)
// GEMM:         tp.gemm {{.*}} terms memref<18xi1
#row = affine_map<(s, k, m) -> (k)>
#id = affine_map<(s, k, m) -> (s, k, m)>
#a = affine_map<(m, n, s, k) -> (s, k, m)>
#b = affine_map<(m, n, s, k) -> (s, k, n)>
#c = affine_map<(m, n, s, k) -> (m, n)>
func.func @inner_loop(%x: tensor<3x6x16xf32>, %g: tensor<3x6x16xf32>, %chosen: tensor<6xi1>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x6x16xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%chosen, %x : tensor<6xi1>, tensor<3x6x16xf32>) outs(%0 : tensor<3x6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<3x6x16xf32>
  %2 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%chosen, %g : tensor<6xi1>, tensor<3x6x16xf32>) outs(%0 : tensor<3x6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<3x6x16xf32>
  %3 = tensor.empty() : tensor<16x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
    ins(%1, %2 : tensor<3x6x16xf32>, tensor<3x6x16xf32>) outs(%4 : tensor<16x16xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  return %5 : tensor<16x16xf32>
}

// -----

// A condition of the batch leaves no terms out. Of what is needed under one
// condition a select by another takes both sides, and one by the same, turned
// round, the second.
// CHECK-LABEL: func.func @of_batch
// CHECK:         linalg.batch_matmul
// CHECK-LABEL: func.func @other_condition
// CHECK:         arith.select
// CHECK:         arith.select
// CHECK-LABEL: func.func @turned
// CHECK:         ^bb0(%{{[a-z_0-9]+}}: i1, %{{[a-z_0-9]+}}: f32, %[[SECOND:[a-z_0-9]+]]: f32, %{{[a-z_0-9]+}}: f32):
// CHECK-NEXT:      linalg.yield %[[SECOND]]
#of_batch = affine_map<(e, m, k) -> (e)>
#id3 = affine_map<(e, m, k) -> (e, m, k)>
#row = affine_map<(m, n) -> (m)>
#id = affine_map<(m, n) -> (m, n)>
func.func @of_batch(%x: tensor<4x16x6xf32>, %g: tensor<4x6x16xf32>, %chosen: tensor<4xi1>) -> tensor<4x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x16x6xf32>
  %1 = linalg.generic {indexing_maps = [#of_batch, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%chosen, %x : tensor<4xi1>, tensor<4x16x6xf32>) outs(%0 : tensor<4x16x6xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x16x6xf32>
  %2 = tensor.empty() : tensor<4x6x16xf32>
  %3 = linalg.generic {indexing_maps = [#of_batch, #id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%chosen, %g : tensor<4xi1>, tensor<4x6x16xf32>) outs(%2 : tensor<4x6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x6x16xf32>
  %4 = tensor.empty() : tensor<4x16x16xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %6 = linalg.batch_matmul ins(%1, %3 : tensor<4x16x6xf32>, tensor<4x6x16xf32>) outs(%5 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %6 : tensor<4x16x16xf32>
}
func.func @other_condition(%x: tensor<6x16xf32>, %chosen: tensor<6xi1>, %other: tensor<6xi1>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%other, %x : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %one : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %2 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %1 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %2 : tensor<6x16xf32>
}
func.func @turned(%x: tensor<6x16xf32>, %y: tensor<6x16xf32>, %chosen: tensor<6xi1>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %x, %y : tensor<6xi1>, tensor<6x16xf32>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %second: f32, %out: f32):
    %r = arith.select %c, %in, %second : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %2 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %1 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %zero, %in : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %2 : tensor<6x16xf32>
}

// -----

// Written by hand: a sum that starts anew where a term does not count, and terms
// of one factor's rows, are no products of some terms.
// GEMM-LABEL: func.func @starts_anew
// GEMM-NOT:     tp.gemm
// GEMM-LABEL: func.func @of_rows
// GEMM-NOT:     tp.gemm
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#term = affine_map<(m, n, k) -> (k)>
#row = affine_map<(m, n, k) -> (m)>
func.func @starts_anew(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<6xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #term, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %g, %chosen : tensor<16x6xf32>, tensor<6x24xf32>, tensor<6xi1>) outs(%1 : tensor<16x24xf32>) {
  ^bb0(%l: f32, %r: f32, %counts: i1, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    %t = arith.select %counts, %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<16x24xf32>
  return %2 : tensor<16x24xf32>
}
func.func @of_rows(%x: tensor<16x6xf32>, %g: tensor<6x24xf32>, %chosen: tensor<16xi1>) -> tensor<16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x24xf32>) -> tensor<16x24xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #row, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %g, %chosen : tensor<16x6xf32>, tensor<6x24xf32>, tensor<16xi1>) outs(%1 : tensor<16x24xf32>) {
  ^bb0(%l: f32, %r: f32, %counts: i1, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %out, %p : f32
    %t = arith.select %counts, %s, %out : f32
    linalg.yield %t : f32
  } -> tensor<16x24xf32>
  return %2 : tensor<16x24xf32>
}

// RUN: tp-opt %s --split-input-file --tp-assign-storage | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-assign-storage=target=cuda | FileCheck %s --check-prefix=CUDA

// A product with matrices of a table reads them where they are. Their numbers
// become a value of its own; what the program checks of them stays.
// CHECK-LABEL: func.func @lookup
// CHECK:         %[[PLACES:.*]] = tp.alloc : memref<3xi64>
// CHECK:         tp.kernel {{.*}} writes(%[[PLACES]]
// CHECK-NOT:     memref<3x16x8xf32>
// CHECK:         %[[TABLE:.*]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [5, 8, 16], strides: [128, 1, 8]
// CHECK:         tp.gemm %arg0, %[[TABLE]] into %{{.*}} lookup %[[PLACES]]
// CUDA-LABEL: func.func @lookup
// CUDA-NOT:     lookup
#places = affine_map<(p, j, k) -> (p)>
#all = affine_map<(p, j, k) -> (p, j, k)>
func.func @lookup(%x: tensor<3x4x8xf32>, %table: tensor<5x16x8xf32>, %choice: tensor<3xi64>) -> tensor<3x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %count = arith.constant 5 : i64
  %0 = tensor.empty() : tensor<3x16x8xf32>
  %1 = linalg.generic {indexing_maps = [#places, #all], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%choice : tensor<3xi64>) outs(%0 : tensor<3x16x8xf32>) {
  ^bb0(%c: i64, %out: f32):
    %isBelow = arith.cmpi slt, %c, %none : i64
    %fromEnd = arith.addi %c, %count : i64
    %number = arith.select %isBelow, %fromEnd, %c : i64
    %i = arith.index_cast %number : i64 to index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %e = tensor.extract %table[%i, %j, %k] : tensor<5x16x8xf32>
    linalg.yield %e : f32
  } -> tensor<3x16x8xf32>
  %2 = tensor.empty() : tensor<3x4x16xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(p, m, n, k) -> (p, m, k)>, affine_map<(p, m, n, k) -> (p, n, k)>, affine_map<(p, m, n, k) -> (p, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %1 : tensor<3x4x8xf32>, tensor<3x16x8xf32>) outs(%3 : tensor<3x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x16xf32>
  return %4 : tensor<3x4x16xf32>
}

// -----

// The index differs inside of a matrix: rows are chosen, and the matrices are
// copied.
// CHECK-LABEL: func.func @rows
// CHECK:         tp.alloc : memref<3x16x8xf32>
// CHECK-NOT:     lookup
#rows = affine_map<(p, j, k) -> (p, j)>
#all = affine_map<(p, j, k) -> (p, j, k)>
func.func @rows(%x: tensor<3x4x8xf32>, %table: tensor<5x8xf32>, %choice: tensor<3x16xindex>) -> tensor<3x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x16x8xf32>
  %1 = linalg.generic {indexing_maps = [#rows, #all], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%choice : tensor<3x16xindex>) outs(%0 : tensor<3x16x8xf32>) {
  ^bb0(%i: index, %out: f32):
    %k = linalg.index 2 : index
    %e = tensor.extract %table[%i, %k] : tensor<5x8xf32>
    linalg.yield %e : f32
  } -> tensor<3x16x8xf32>
  %2 = tensor.empty() : tensor<3x4x16xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(p, m, n, k) -> (p, m, k)>, affine_map<(p, m, n, k) -> (p, n, k)>, affine_map<(p, m, n, k) -> (p, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %1 : tensor<3x4x8xf32>, tensor<3x16x8xf32>) outs(%3 : tensor<3x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x16xf32>
  return %4 : tensor<3x4x16xf32>
}

// -----

// The index moves with the rows of a matrix.
// CHECK-LABEL: func.func @moved
// CHECK:         tp.alloc : memref<3x4x8xf32>
// CHECK-NOT:     lookup
#places = affine_map<(p, j, k) -> (p)>
#all = affine_map<(p, j, k) -> (p, j, k)>
func.func @moved(%x: tensor<3x4x8xf32>, %table: tensor<9x8xf32>, %choice: tensor<3xindex>) -> tensor<3x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x4x8xf32>
  %1 = linalg.generic {indexing_maps = [#places, #all], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%choice : tensor<3xindex>) outs(%0 : tensor<3x4x8xf32>) {
  ^bb0(%c: index, %out: f32):
    %j = linalg.index 1 : index
    %i = arith.addi %c, %j : index
    %k = linalg.index 2 : index
    %e = tensor.extract %table[%i, %k] : tensor<9x8xf32>
    linalg.yield %e : f32
  } -> tensor<3x4x8xf32>
  %2 = tensor.empty() : tensor<3x4x4xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(p, m, n, k) -> (p, m, k)>, affine_map<(p, m, n, k) -> (p, n, k)>, affine_map<(p, m, n, k) -> (p, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %1 : tensor<3x4x8xf32>, tensor<3x4x8xf32>) outs(%3 : tensor<3x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x4xf32>
  return %4 : tensor<3x4x4xf32>
}

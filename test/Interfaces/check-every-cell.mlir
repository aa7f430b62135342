// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2,2 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3,2 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules="ranks=2,2 sub-axes=true" -o /dev/null 2>&1 | FileCheck %s

// Ops whose rules have cells that named ops lack (test/coverage.py), under
// every choice, every pair of choices on two axes, and on two parts of one.

// CHECK-COUNT-12: strategies hold
// CHECK-NOT: error
// CHECK-NOT: strategies hold

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A table read at a loop's index and at computed ones, whose values pass.
func.func @tables(%table: tensor<12x6xf32>, %own: tensor<12xf32>, %ids: tensor<12xi64>) {
  %e = tensor.empty() : tensor<12x6xf32>
  %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<12xi64>) outs(%e : tensor<12x6xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %table[%i, %c] : tensor<12x6xf32>
    linalg.yield %v : f32
  } -> tensor<12x6xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<12x6xf32>) {
  ^bb0(%o: f32):
    %r = linalg.index 0 : index
    %v = tensor.extract %own[%r] : tensor<12xf32>
    linalg.yield %v : f32
  } -> tensor<12x6xf32>
  return
}

// Values of every kind pass a body that computes nothing.
func.func @generic(%x: tensor<12x8xf32>, %v: tensor<8xf32>) {
  %e = tensor.empty() : tensor<12x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<12x8xf32>) outs(%e : tensor<12x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<12x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8xf32>) outs(%e : tensor<12x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<12x8xf32>
  return
}

func.func @movement(%x: tensor<24x12xf32>, %y: tensor<12x8xf32>, %z: tensor<12x4xf32>, %i: tensor<12x4xi32>) {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 6, 12] : tensor<24x12xf32> into tensor<4x6x12xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<4x6x12xf32> into tensor<4x72xf32>
  %2 = tensor.extract_slice %y[0, 4] [12, 4] [1, 1] : tensor<12x8xf32> to tensor<12x4xf32>
  %3 = tensor.insert_slice %z into %y[0, 4] [12, 4] [1, 1] : tensor<12x4xf32> into tensor<12x8xf32>
  %4 = tensor.concat dim(1) %y, %z : (tensor<12x8xf32>, tensor<12x4xf32>) -> tensor<12x12xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %5 = tensor.extract %x[%c1, %c0] : tensor<24x12xf32>
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %6 = tensor.from_elements %one, %two : tensor<2xf32>
  %7 = tensor.splat %two : tensor<3xf32>
  return
}

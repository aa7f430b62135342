// RUN: tp-opt %s --split-input-file --tp-form-scatters --verify-diagnostics | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-form-program | FileCheck %s --check-prefix=PROGRAM
// RUN: tp-opt %s --split-input-file --tp-form-scatters=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: not tp-opt %s --split-input-file --tp-form-scatters=target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: tp-form-scatters: expected the target 'cpu' or 'cuda', got 'gpu'

// The gradient of an embedding: the place is the token. For a device the result
// is small.

// CHECK-LABEL:  func.func @embedding
// CHECK:          %[[PLACES:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%arg0 : tensor<64xi64>) outs(%{{.*}} : tensor<64xindex>)
// CHECK:          linalg.generic {{.*}} ins(%[[PLACES]], %arg0, %arg1 : tensor<64xindex>, tensor<64xi64>, tensor<64x8xf32>)
// CHECK-NEXT:     ^bb0(%[[PLACE:.*]]: index, %{{.*}}: i64, %{{.*}}: f32, %[[OLD:.*]]: f32):
// CHECK:          %[[NEW:.*]] = arith.addf
// CHECK:          %[[V:.*]] = linalg.index 0
// CHECK:          %[[HIT:.*]] = arith.cmpi eq, %[[V]], %[[PLACE]] : index
// CHECK:          %[[NEXT:.*]] = arith.select %[[HIT]], %[[NEW]], %[[OLD]] : f32
// CHECK:          linalg.yield %[[NEXT]]
// PROGRAM-LABEL: func.func @embedding
// PROGRAM:        tp.compute %{{.*}} scattered [0] into %{{.*}} : tensor<32x8xf32> into memref<32x8xf32>
// CUDA-LABEL:   func.func @embedding
// CUDA-NOT:       tensor<64xindex>
#token = affine_map<(v, d, t) -> (t)>
#row = affine_map<(v, d, t) -> (t, d)>
#table = affine_map<(v, d, t) -> (v, d)>
func.func @embedding(%tokens: tensor<64xi64>, %rows: tensor<64x8xf32>, %x: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %zero = arith.constant -0.0 : f32
  %y = linalg.generic {indexing_maps = [#token, #row, #table], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%tokens, %rows : tensor<64xi64>, tensor<64x8xf32>) outs(%x : tensor<32x8xf32>) {
  ^bb0(%token: i64, %row: f32, %old: f32):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i64
    %here = arith.cmpi eq, %i, %token : i64
    %update = arith.select %here, %row, %zero : f32
    %new = arith.addf %old, %update : f32
    linalg.yield %new : f32
  } -> tensor<32x8xf32>
  return %y : tensor<32x8xf32>
}

// -----

// 0.0 is not neutral to a sum that may be -0.0.

// CHECK-LABEL: func.func @other_zero
// CHECK-NOT:   tensor<64xindex>
#token = affine_map<(v, d, t) -> (t)>
#row = affine_map<(v, d, t) -> (t, d)>
#table = affine_map<(v, d, t) -> (v, d)>
func.func @other_zero(%tokens: tensor<64xi64>, %rows: tensor<64x8xf32>, %x: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %y = linalg.generic {indexing_maps = [#token, #row, #table], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%tokens, %rows : tensor<64xi64>, tensor<64x8xf32>) outs(%x : tensor<32x8xf32>) {
  ^bb0(%token: i64, %row: f32, %old: f32):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i64
    %here = arith.cmpi eq, %i, %token : i64
    %update = arith.select %here, %row, %zero : f32
    %new = arith.addf %old, %update : f32
    linalg.yield %new : f32
  } -> tensor<32x8xf32>
  return %y : tensor<32x8xf32>
}

// -----

// It is to one that begins with 0.0. The condition and the choice are
// elementwise ops before the sum, and the places are 32-bit and shifted: those
// below zero are beyond the end.

// CHECK-LABEL: func.func @ops_before
// CHECK:         %[[PLACES:.*]] = linalg.generic {{.*}}ins(%arg0 : tensor<64xi32>) outs(%{{.*}} : tensor<64xindex>)
// CHECK:         arith.index_castui
// CHECK:         linalg.generic {{.*}} ins(%[[PLACES]], %{{.*}} : tensor<64xindex>, tensor<32x64x8xf32>)
// PROGRAM-LABEL: func.func @ops_before
// PROGRAM:       scattered [0]
#vt = affine_map<(v, t) -> (v, t)>
#t = affine_map<(v, t) -> (t)>
#all = affine_map<(v, t, d) -> (v, t, d)>
#hit = affine_map<(v, t, d) -> (v, t)>
#row = affine_map<(v, t, d) -> (t, d)>
#table = affine_map<(v, t, d) -> (v, d)>
func.func @ops_before(%tokens: tensor<64xi32>, %rows: tensor<64x8xf32>) -> tensor<32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %three = arith.constant 3 : i32
  %e0 = tensor.empty() : tensor<32x64xi1>
  %hits = linalg.generic {indexing_maps = [#t, #vt], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<64xi32>) outs(%e0 : tensor<32x64xi1>) {
  ^bb0(%token: i32, %out: i1):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i32
    %shifted = arith.subi %token, %three : i32
    %here = arith.cmpi eq, %shifted, %i : i32
    linalg.yield %here : i1
  } -> tensor<32x64xi1>
  %e1 = tensor.empty() : tensor<32x64x8xf32>
  %chosen = linalg.generic {indexing_maps = [#hit, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%hits, %rows : tensor<32x64xi1>, tensor<64x8xf32>) outs(%e1 : tensor<32x64x8xf32>) {
  ^bb0(%here: i1, %row: f32, %out: f32):
    %update = arith.select %here, %row, %zero : f32
    linalg.yield %update : f32
  } -> tensor<32x64x8xf32>
  %e2 = tensor.empty() : tensor<32x8xf32>
  %begin = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x8xf32>) -> tensor<32x8xf32>
  %y = linalg.generic {indexing_maps = [#all, #table], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%chosen : tensor<32x64x8xf32>) outs(%begin : tensor<32x8xf32>) {
  ^bb0(%update: f32, %old: f32):
    %new = arith.addf %update, %old : f32
    linalg.yield %new : f32
  } -> tensor<32x8xf32>
  return %y : tensor<32x8xf32>
}

// -----

// The rank has a part of the table. What the body checks is checked with the
// place, once for each, and stays outside of the writes.

// CHECK-LABEL: func.func @checked
// CHECK:         %[[RANK:.*]] = tp.axis_index
// CHECK:         linalg.generic {{.*}}outs(%{{.*}} : tensor<64xindex>)
// CHECK:           cf.assert %{{.*}}, "outside"
// CHECK:         linalg.generic {{.*}}outs(%arg2 : tensor<32x8xf32>)
// CHECK-NOT:       cf.assert
// CHECK:         return
#mesh = #tp.mesh<"tp" = 2>
#token = affine_map<(v, d, t) -> (t)>
#row = affine_map<(v, d, t) -> (t, d)>
#table = affine_map<(v, d, t) -> (v, d)>
module attributes {tp.mesh = #mesh} {
  func.func @checked(%tokens: tensor<64xi64>, %rows: tensor<64x8xf32>, %x: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %rank = tp.axis_index over <#mesh, ["tp"]> : index
    %size = arith.constant 32 : index
    %begin = arith.muli %rank, %size : index
    %all = arith.constant 64 : index
    %y = linalg.generic {indexing_maps = [#token, #row, #table], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%tokens, %rows : tensor<64xi64>, tensor<64x8xf32>) outs(%x : tensor<32x8xf32>) {
    ^bb0(%token: i64, %row: f32, %old: f32):
      %v = linalg.index 0 : index
      %global = arith.addi %v, %begin : index
      %place = arith.index_cast %token : i64 to index
      %inside = arith.cmpi ult, %place, %all : index
      cf.assert %inside, "outside"
      %here = arith.cmpi eq, %global, %place : index
      %new = arith.select %here, %row, %old : f32
      linalg.yield %new : f32
    } -> tensor<32x8xf32>
    return %y : tensor<32x8xf32>
  }
}

// -----

// Two places, one of which is the sum of data and a loop over the writes; a
// third condition stays in the body.

// CHECK-LABEL: func.func @window
// CHECK:         linalg.generic {{.*}}outs(%{{.*}} : tensor<16xindex>)
// CHECK:         %[[SHIFTED:.*]] = linalg.generic {{.*}}outs(%{{.*}} : tensor<16x3xindex>)
// CHECK:           linalg.index 1
// CHECK:         linalg.generic {{.*}}outs(%arg3 : tensor<12x40xf32>)
// CHECK:           arith.cmpi ule
// PROGRAM-LABEL: func.func @window
// PROGRAM:       scattered [0, 1]
#i = affine_map<(v, w, t, k) -> (t)>
#u = affine_map<(v, w, t, k) -> (t, k)>
#x = affine_map<(v, w, t, k) -> (v, w)>
func.func @window(%rows: tensor<16xi64>, %begins: tensor<16xi64>, %u: tensor<16x3xf32>, %x: tensor<12x40xf32>) -> tensor<12x40xf32> {
  %last = arith.constant 37 : index
  %y = linalg.generic {indexing_maps = [#i, #i, #u, #x], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%rows, %begins, %u : tensor<16xi64>, tensor<16xi64>, tensor<16x3xf32>) outs(%x : tensor<12x40xf32>) {
  ^bb0(%row: i64, %first: i64, %update: f32, %old: f32):
    %v = linalg.index 0 : index
    %w = linalg.index 1 : index
    %k = linalg.index 3 : index
    %r = arith.index_cast %row : i64 to index
    %f = arith.index_cast %first : i64 to index
    %at = arith.addi %f, %k : index
    %fits = arith.cmpi ule, %f, %last : index
    %isRow = arith.cmpi eq, %v, %r : index
    %isColumn = arith.cmpi eq, %at, %w : index
    %both = arith.andi %isRow, %isColumn : i1
    %here = arith.andi %both, %fits : i1
    %new = arith.select %here, %update, %old : f32
    linalg.yield %new : f32
  } -> tensor<12x40xf32>
  return %y : tensor<12x40xf32>
}

// -----

// A place that is compared modulo 256 is one of several of 300.

// CHECK-LABEL: func.func @bytes
// CHECK-NOT:   index>
#token = affine_map<(v, t) -> (t)>
#table = affine_map<(v, t) -> (v)>
func.func @bytes
// CHECK-NOT:   index>
// CHECK-LABEL: func.func @of_the_sum
// CHECK-NOT:   index>
// CHECK-LABEL: func.func @few
// CHECK-NOT:   index>
#token = affine_map<(v, t) -> (t)>
#table = affine_map<(v, t) -> (v)>
func.func @bytes(%tokens: tensor<64xi8>, %x: tensor<300xf32>) -> tensor<300xf32> {
  %one = arith.constant 1.0 : f32
  %y = linalg.generic {indexing_maps = [#token, #table], iterator_types = ["parallel", "reduction"]}
      ins(%tokens : tensor<64xi8>) outs(%x : tensor<300xf32>) {
  ^bb0(%token: i8, %old: f32):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i8
    %here = arith.cmpi eq, %i, %token : i8
    %new = arith.select %here, %one, %old : f32
    linalg.yield %new : f32
  } -> tensor<300xf32>
  return %y : tensor<300xf32>
}

// -----

// What depends on the sum so far is no place.

// CHECK-LABEL: func.func @of_the_sum
// CHECK-NOT:   index>
#token = affine_map<(v, t) -> (t)>
#table = affine_map<(v, t) -> (v)>
func.func @of_the_sum(%tokens: tensor<64xi64>, %x: tensor<300xi64>) -> tensor<300xi64> {
  %one = arith.constant 1 : i64
  %y = linalg.generic {indexing_maps = [#token, #table], iterator_types = ["parallel", "reduction"]}
      ins(%tokens : tensor<64xi64>) outs(%x : tensor<300xi64>) {
  ^bb0(%token: i64, %old: i64):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i64
    %sum = arith.addi %token, %old : i64
    %here = arith.cmpi eq, %i, %sum : i64
    %new = arith.select %here, %one, %old : i64
    linalg.yield %new : i64
  } -> tensor<300xi64>
  return %y : tensor<300xi64>
}

// -----

// Few writes cost less as a reduction.

// CHECK-LABEL: func.func @few
// CHECK-NOT:   index>
#token = affine_map<(v, t) -> (t)>
#table = affine_map<(v, t) -> (v)>
func.func @few(%tokens: tensor<4xi64>, %x: tensor<300xf32>) -> tensor<300xf32> {
  %one = arith.constant 1.0 : f32
  %y = linalg.generic {indexing_maps = [#token, #table], iterator_types = ["parallel", "reduction"]}
      ins(%tokens : tensor<4xi64>) outs(%x : tensor<300xf32>) {
  ^bb0(%token: i64, %old: f32):
    %v = linalg.index 0 : index
    %i = arith.index_cast %v : index to i64
    %here = arith.cmpi eq, %i, %token : i64
    %new = arith.select %here, %one, %old : f32
    linalg.yield %new : f32
  } -> tensor<300xf32>
  return %y : tensor<300xf32>
}

// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=kernels | FileCheck %s

// A gather: the row is clamped into the table, a failed check stores its id, the
// column needs neither.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK-SAME:    llvm.noalias
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           arith.cmpi slt
// CHECK:           scf.if
// CHECK:             llvm.store
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:           llvm.load {{.*}} -> f32
// CHECK-NOT:       arith.maxsi
// CHECK:           llvm.store
// CHECK:       llvm.func @tp_kernel_0(
func.func @main(%t: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<3xi64>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %r = arith.index_cast %a : i64 to index
    %c = linalg.index 1 : index
    %k = arith.cmpi slt, %r, %c10 : index
    cf.assert %k, "index must be smaller than dim size"
    %v = tensor.extract %t[%r, %c] : tensor<10x4xf32>
    linalg.yield %v : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

// A concatenation is two loops, not a choice in one.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         %[[THREE:.*]] = arith.constant 3 : i64
// CHECK:         scf.for
// CHECK-NOT:     arith.select
// CHECK:         scf.for
// CHECK-NOT:     arith.select
// CHECK:         llvm.return
func.func @main(%a: tensor<3xf32>, %b: tensor<5xf32>) -> tensor<8xf32> {
  %y = tensor.concat dim(0) %a, %b : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Where the rank decides the place, elements are chosen one by one, at an offset
// that cannot leave the tensor.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         arith.divui
// CHECK:         arith.remui
// CHECK:         arith.maxsi
// CHECK:         arith.minsi
// CHECK:         scf.for
// CHECK:           arith.cmpi ult
// CHECK:           arith.select
#axes = #tp.axes<<"tp" = 4>, ["tp"]>
module attributes {tp.mesh = #tp.mesh<"tp" = 4>} {
  func.func @main(%x: tensor<2xf32> {tp.layout = #tp.layout<<"tp" = 4>, [shard<0>]>, tp.global_type = tensor<8xf32>}) -> tensor<8xf32> {
    %c2 = arith.constant 2 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %i = tp.axis_index over #axes : index
    %o = arith.muli %i, %c2 : index
    %y = tensor.insert_slice %x into %zero[%o] [2] [1] : tensor<2xf32> into tensor<8xf32>
    return %y : tensor<8xf32>
  }
}

// -----

// Of a maximum with its position only the maximum is computed if only that is
// used. Sums may be reordered; NaN is not assumed away.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         iter_args(%{{[^,]*}} = %{{[^,]*}}) -> (f32)
// CHECK-NOT:     arith.cmpf
// CHECK:         arith.maximumf %{{.*}}, %{{.*}} : f32
func.func @main(%x: tensor<4x9xf32>) -> tensor<4xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.empty() : tensor<4xi64>
  %3 = linalg.fill ins(%none : i64) outs(%2 : tensor<4xi64>) -> tensor<4xi64>
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%1, %3 : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %m: f32, %n: i64):
    %d = linalg.index 1 : index
    %c = arith.index_cast %d : index to i64
    %v = arith.maximumf %a, %m : f32
    %g = arith.cmpf ogt, %a, %m : f32
    %s = arith.select %g, %c, %n : i64
    linalg.yield %v, %s : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %y#0 : tensor<4xf32>
}

// -----

// A sum over rows runs along the columns, accumulating in the result.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         scf.for
// CHECK-NOT:       llvm.load
// CHECK:           llvm.store
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             llvm.load
// CHECK:             llvm.load
// CHECK:             arith.addf
// CHECK:             llvm.store
func.func @main(%x: tensor<64x128xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<64x128xf32>) outs(%f : tensor<128xf32>) dimensions = [0]
  return %y : tensor<128xf32>
}

// -----

// So does a sum of weighted rows: the weights, which lie along the sum, are the
// same for all columns.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         scf.for
// CHECK-NOT:       llvm.load
// CHECK:           llvm.store
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.mulf
// CHECK:             arith.addf
// CHECK:             llvm.store
#id = affine_map<(e, d) -> (e, d)>
func.func @main(%x: tensor<64x128xf32>, %w: tensor<64xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
  %e2 = tensor.empty() : tensor<64x128xf32>
  %p = linalg.generic {indexing_maps = [#id, affine_map<(e, d) -> (e)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %w : tensor<64x128xf32>, tensor<64xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<64x128xf32>
  %y = linalg.reduce { arith.addf } ins(%p : tensor<64x128xf32>) outs(%f : tensor<128xf32>) dimensions = [0]
  return %y : tensor<128xf32>
}

// -----

// A sum of what two vectors make stays in a register.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.maximumf
// CHECK:             arith.addf
// CHECK-NOT:         llvm.store
// CHECK:             scf.yield
// CHECK:           llvm.store
func.func @main(%x: tensor<64xf32>, %w: tensor<128xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<64xf32>, tensor<128xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.maximumf %a, %b : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}

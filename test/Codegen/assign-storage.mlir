// RUN: tp-opt %s --split-input-file --tp-assign-storage | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-assign-storage --tp-form-kernels --tp-update-in-place --tp-schedule --tp-write-parts --tp-plan-memory --tp-cpu-compile=show=manifest -o /dev/null > %t.stages
// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null > %t.once
// RUN: cmp %t.stages %t.once
// RUN: not tp-opt %s --split-input-file --tp-assign-storage=target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: tp-assign-storage: expected the target 'cpu' or 'cuda', got 'gpu'

// A product, the maximum of its rows, what is subtracted from each element, which
// is read once and has no memory, and its sum: two kernels.

// CHECK-LABEL: func.func @rows(%arg0: memref<4x6xf32>, %arg1: memref<6x8xf32>) -> memref<4xf32>
// CHECK:       %[[P:.*]] = tp.alloc : memref<4x8xf32>
// CHECK-NEXT:  tp.gemm %arg0, %arg1 into %[[P]] : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
// CHECK-NEXT:  %[[M:.*]] = tp.alloc : memref<4xf32>
// CHECK-NEXT:  tp.kernel reads(%[[P]] : memref<4x8xf32>) writes(%[[M]] : memref<4xf32>) {
// CHECK:         tp.compute %{{.*}} rows [0] into %{{.*}} : tensor<4xf32> into memref<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  %[[R:.*]] = tp.alloc : memref<4xf32>
// CHECK-NEXT:  tp.kernel reads(%[[P]], %[[M]] : memref<4x8xf32>, memref<4xf32>) writes(%[[R]] : memref<4xf32>) {
// CHECK:         linalg.broadcast
// CHECK:         linalg.sub
// CHECK:         tp.compute %{{.*}} rows [0] into %{{.*}} : tensor<4xf32> into memref<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[R]] : memref<4xf32>
func.func @rows(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %r = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = linalg.fill ins(%lowest : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce { arith.maximumf } ins(%p : tensor<4x8xf32>) outs(%l : tensor<4xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%m : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %d = linalg.sub ins(%p, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce { arith.addf } ins(%d : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
  return %s : tensor<4xf32>
}

// -----

// The result is stored in the order of its reshape, and a transposed weight as
// the product reads it. Constants are memory of their own.

// CHECK-LABEL: func.func @order
// CHECK-SAME:  memref<8x6xf32, strided<[1, 8]>> {tp.kind = "parameter"
// CHECK:       %[[W:.*]] = memref.reinterpret_cast %arg1
// CHECK:       tp.gemm %arg0, %[[W]] into
// CHECK:       %[[C:.*]] = tp.constant dense<[1.000000e+00, 2.000000e+00
// CHECK:       tp.kernel reads({{.*}}%[[C]]
// CHECK:       %[[V:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [32]
// CHECK:       return %[[V]] : memref<32xf32>
func.func @order(%x: tensor<4x6xf32>, %w: tensor<8x6xf32> {tp.kind = "parameter", tp.name = "w"}) -> tensor<32xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<4x6xf32>, tensor<8x6xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = linalg.broadcast ins(%c : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  %a = linalg.add ins(%p, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %y : tensor<32xf32>
}

// -----

// A collective reads and writes row-major buffers.

// CHECK-LABEL: func.func @gathered
// CHECK:       %[[G:.*]] = tp.alloc : memref<8x6xf32>
// CHECK-NEXT:  tp.communicate %arg0 into %[[G]] : memref<4x6xf32>, memref<8x6xf32> {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: tensor<4x6xf32>):
// CHECK-NEXT:    tp.all_gather %[[A]] dim 0 over <#mesh, ["tp"]> : tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT:  }
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @gathered(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
    %y = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<4x6xf32> -> tensor<8x6xf32>
    return %y : tensor<8x6xf32>
  }
}

// -----

// One product reads rows of 6 x 8 numbers, another one columns of 4 x 8: no
// order of memory suits both. The order of the first stays, and the second
// reads a copy.

// CHECK-LABEL: func.func @two_orders
// CHECK:       %[[V:.*]] = tp.alloc : memref<4x6x8xf32>
// CHECK:       tp.kernel reads(%arg0{{.*}}) writes({{.*}}%[[V]]
// CHECK:       memref<4x48xf32
// CHECK:       tp.gemm {{.*}} : memref<4x48xf32{{.*}}>, memref<48x3xf32>, memref<4x3xf32>
// CHECK:       tp.gemm {{.*}} : memref<6x32xf32>, memref<32x3xf32>, memref<6x3xf32>
func.func @two_orders(%x: tensor<4x6x8xf32>, %a: tensor<48x3xf32>, %b: tensor<32x3xf32>) -> (tensor<4x3xf32>, tensor<6x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6x8xf32>
  %v = linalg.exp ins(%x : tensor<4x6x8xf32>) outs(%e : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %r = tensor.collapse_shape %v [[0], [1, 2]] : tensor<4x6x8xf32> into tensor<4x48xf32>
  %e1 = tensor.empty() : tensor<4x3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %p = linalg.matmul ins(%r, %a : tensor<4x48xf32>, tensor<48x3xf32>) outs(%f1 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %et = tensor.empty() : tensor<6x4x8xf32>
  %t = linalg.transpose ins(%v : tensor<4x6x8xf32>) outs(%et : tensor<6x4x8xf32>) permutation = [1, 0, 2]
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<6x4x8xf32> into tensor<6x32xf32>
  %e2 = tensor.empty() : tensor<6x3xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x3xf32>) -> tensor<6x3xf32>
  %q = linalg.matmul ins(%c, %b : tensor<6x32xf32>, tensor<32x3xf32>) outs(%f2 : tensor<6x3xf32>) -> tensor<6x3xf32>
  return %p, %q : tensor<4x3xf32>, tensor<6x3xf32>
}

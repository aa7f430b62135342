// RUN: tp-opt %s --split-input-file --tp-form-kernels | FileCheck %s

// Two reductions of what a product made are one kernel, unless the second one
// is computed again, in the backward pass: then it is behind the resume and
// behind all commands before it, and the op is gone.

// CHECK-LABEL: func.func @once(
// CHECK:       tp.kernel
// CHECK:         arith.maximumf
// CHECK:         arith.addf
// CHECK-NOT:   tp.kernel
// CHECK:       return
func.func @once(%x: memref<4x6xf32>, %w: memref<6x8xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %p = tp.alloc : memref<4x8xf32>
  tp.gemm %x, %w into %p : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
  %m = tp.alloc : memref<4xf32>
  tp.kernel reads(%p : memref<4x8xf32>) writes(%m : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.maximumf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  %s = tp.alloc : memref<4xf32>
  tp.kernel reads(%p : memref<4x8xf32>) writes(%s : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  return %m, %s : memref<4xf32>, memref<4xf32>
}

// -----

// CHECK-LABEL: func.func @again(
// CHECK:       tp.kernel
// CHECK:         arith.maximumf
// CHECK-NOT:   tp.resume
// CHECK:       tp.gemm
// CHECK-NOT:   tp.resume
// CHECK:       tp.kernel
// CHECK:         arith.addf
func.func @again(%x: memref<4x6xf32>, %w: memref<6x8xf32>) -> (memref<4xf32>, memref<4xf32>, memref<4x8xf32>) {
  %p = tp.alloc : memref<4x8xf32>
  tp.gemm %x, %w into %p : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
  %m = tp.alloc : memref<4xf32>
  tp.kernel reads(%p : memref<4x8xf32>) writes(%m : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.maximumf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  %q = tp.alloc : memref<4x8xf32>
  tp.gemm %x, %w into %q : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
  tp.resume %p : memref<4x8xf32>
  %s = tp.alloc : memref<4xf32>
  tp.kernel reads(%p : memref<4x8xf32>) writes(%s : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  return %m, %s, %q : memref<4xf32>, memref<4xf32>, memref<4x8xf32>
}

// RUN: tp-opt %s --tp-form-kernels=target=cuda | FileCheck %s
// RUN: tp-opt %s --tp-form-kernels | FileCheck %s --check-prefix=PROCESSOR

// On devices an update does not run right behind the message that it waits for: the product
// in between hides the message. The update of what a product makes does. On processors both
// run right behind what they read.

// CHECK-LABEL: func.func @updated(
// CHECK:       tp.communicate %arg0 into %[[G:.*]] :
// CHECK:       tp.gemm %arg0, %arg0 into %[[H:.*]] :
// CHECK:       tp.kernel reads(%[[H]] :
// CHECK:       tp.gemm %arg0, %arg0 into
// CHECK:       tp.kernel reads(%[[G]] :

// PROCESSOR-LABEL: func.func @updated(
// PROCESSOR:       tp.communicate %arg0 into %[[G:.*]] :
// PROCESSOR:       tp.kernel reads(%[[G]] :
// PROCESSOR:       tp.gemm %arg0, %arg0 into %[[H:.*]] :
// PROCESSOR:       tp.kernel reads(%[[H]] :
// PROCESSOR:       tp.gemm %arg0, %arg0 into
module attributes {tp.mesh = #tp.mesh<"dp" = 2>} {
  func.func @updated(%x: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) {
    %g = tp.alloc : memref<4x4xf32>
    tp.communicate %x into %g : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%s: tensor<4x4xf32>):
      %r = tp.all_reduce sum %s over <<"dp" = 2>, ["dp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %h = tp.alloc : memref<4x4xf32>
    tp.gemm %x, %x into %h : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %i = tp.alloc : memref<4x4xf32>
    tp.gemm %x, %x into %i : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %a = tp.alloc : memref<4x4xf32>
    tp.kernel reads(%g : memref<4x4xf32>) writes(%a : memref<4x4xf32>) {
    ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
      %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
      %e = tensor.empty() : tensor<4x4xf32>
      %1 = linalg.exp ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
    }
    %b = tp.alloc : memref<4x4xf32>
    tp.kernel reads(%h : memref<4x4xf32>) writes(%b : memref<4x4xf32>) {
    ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
      %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
      %e = tensor.empty() : tensor<4x4xf32>
      %1 = linalg.log ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
    }
    return %a, %b, %i : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  }
}

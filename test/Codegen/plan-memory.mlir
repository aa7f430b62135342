// RUN: tp-opt %s --split-input-file --tp-plan-memory --verify-diagnostics | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-plan-memory=target=cuda --verify-diagnostics | FileCheck %s --check-prefix=CUDA

// The exponential takes over the place of the product that it reads; the last
// product is the result and has memory of its own.

// CHECK-LABEL: @chain
// CHECK: tp.alloc at 0 : memref<8x8xf32>
// CHECK: tp.alloc at 0 : memref<8x8xf32>
// CHECK: tp.alloc : memref<8x8xf32>
func.func @chain(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  %0 = tp.alloc : memref<8x8xf32>
  tp.gemm %x, %x into %0 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %1 = tp.alloc : memref<8x8xf32>
  tp.kernel reads(%0 : memref<8x8xf32>) writes(%1 : memref<8x8xf32>) {
  ^bb0(%a: memref<8x8xf32>, %b: memref<8x8xf32>):
    %3 = bufferization.to_tensor %a : memref<8x8xf32> to tensor<8x8xf32>
    %4 = tensor.empty() : tensor<8x8xf32>
    %5 = linalg.exp ins(%3 : tensor<8x8xf32>) outs(%4 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %6 = tp.compute %5 into %b : tensor<8x8xf32> into memref<8x8xf32>
  }
  %2 = tp.alloc : memref<8x8xf32>
  tp.gemm %1, %x into %2 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %2 : memref<8x8xf32>
}

// -----

// Read transposed, an element would be lost before it is read.

// CHECK-LABEL: @crossed
// CHECK: tp.alloc at 0 : memref<8x8xf32>
// CHECK: tp.alloc at 256 : memref<8x8xf32>
func.func @crossed(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  %0 = tp.alloc : memref<8x8xf32>
  tp.gemm %x, %x into %0 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %1 = tp.alloc : memref<8x8xf32>
  tp.kernel reads(%0 : memref<8x8xf32>) writes(%1 : memref<8x8xf32>) {
  ^bb0(%a: memref<8x8xf32>, %b: memref<8x8xf32>):
    %3 = bufferization.to_tensor %a : memref<8x8xf32> to tensor<8x8xf32>
    %4 = tensor.empty() : tensor<8x8xf32>
    %5 = linalg.transpose ins(%3 : tensor<8x8xf32>) outs(%4 : tensor<8x8xf32>) permutation = [1, 0]
    %6 = tp.compute %5 into %b : tensor<8x8xf32> into memref<8x8xf32>
  }
  %2 = tp.alloc : memref<8x8xf32>
  tp.gemm %1, %x into %2 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %2 : memref<8x8xf32>
}

// -----

// Offsets that are given stay, and are checked.

// CHECK-LABEL: @given
// CHECK: tp.alloc at 1024 : memref<8x8xf32>
func.func @given(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  %0 = tp.alloc at 1024 : memref<8x8xf32>
  tp.gemm %x, %x into %0 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %1 = tp.alloc : memref<8x8xf32>
  tp.gemm %0, %x into %1 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %1 : memref<8x8xf32>
}

// -----

func.func @overlap(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  // expected-note@+1 {{that memory is here}}
  %0 = tp.alloc at 0 : memref<8x8xf32>
  tp.gemm %x, %x into %0 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  // expected-error@+1 {{overlaps memory that is needed at the same time, from byte 0}}
  %1 = tp.alloc at 0 : memref<8x8xf32>
  tp.gemm %0, %x into %1 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %2 = tp.alloc : memref<8x8xf32>
  tp.gemm %1, %x into %2 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %2 : memref<8x8xf32>
}

// -----

func.func @alignment(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  // expected-error@+1 {{expected an offset that is a multiple of}}
  %0 = tp.alloc at 4 : memref<8x8xf32>
  tp.gemm %x, %x into %0 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %1 = tp.alloc : memref<8x8xf32>
  tp.gemm %0, %x into %1 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %1 : memref<8x8xf32>
}

// -----

func.func @outside(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  %0 = tp.alloc : memref<8x8xf32>
  // expected-error@+1 {{reaches from element 8 to 71 of memory with 64 elements}}
  %1 = memref.reinterpret_cast %0 to offset: [8], sizes: [8, 8], strides: [8, 1] : memref<8x8xf32> to memref<8x8xf32, strided<[8, 1], offset: 8>>
  tp.gemm %x, %x into %1 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32, strided<[8, 1], offset: 8>>
  return %0 : memref<8x8xf32>
}

// -----

func.func @result(%x: memref<8x8xf32>) -> memref<8x8xf32> {
  // expected-error@+1 {{expected every result to be an allocation of its own}}
  return %x : memref<8x8xf32>
}

// -----

func.func @rows(%x: memref<8x4xf32>) -> memref<8x4xf32> {
  %0 = tp.alloc : memref<8x4xf32>
  tp.kernel reads(%x : memref<8x4xf32>) writes(%0 : memref<8x4xf32>) {
  ^bb0(%a: memref<8x4xf32>, %b: memref<8x4xf32>):
    %3 = bufferization.to_tensor %a : memref<8x4xf32> to tensor<8x4xf32>
    %s = tp.scratch : memref<8x4xf32>
    // expected-note@+1 {{they are computed here}}
    %4 = tp.compute %3 rows [0] into %s : tensor<8x4xf32> into memref<8x4xf32>
    %5 = tensor.extract_slice %4[4, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
    %6 = tensor.extract_slice %4[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
    %7 = tensor.concat dim(0) %5, %6 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    // expected-error@+1 {{reads elements that another row computes, along row loop 0}}
    %8 = tp.compute %7 rows [0] into %b : tensor<8x4xf32> into memref<8x4xf32>
  }
  %1 = tp.alloc : memref<8x4xf32>
  tp.kernel reads(%0 : memref<8x4xf32>) writes(%1 : memref<8x4xf32>) {
  ^bb0(%a: memref<8x4xf32>, %b: memref<8x4xf32>):
    %3 = bufferization.to_tensor %a : memref<8x4xf32> to tensor<8x4xf32>
    %4 = tp.compute %3 into %b : tensor<8x4xf32> into memref<8x4xf32>
  }
  return %1 : memref<8x4xf32>
}

// -----

func.func @held(%x: memref<8x4xf32>) -> memref<8xf32> {
  %0 = tp.alloc : memref<8xf32>
  tp.kernel reads(%x : memref<8x4xf32>) writes(%0 : memref<8xf32>) {
  ^bb0(%a: memref<8x4xf32>, %b: memref<8xf32>):
    %3 = bufferization.to_tensor %a : memref<8x4xf32> to tensor<8x4xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %4 = linalg.reduce { arith.addf } ins(%3 : tensor<8x4xf32>) outs(%init : tensor<8xf32>) dimensions = [1]
    // expected-error@+1 {{is not held: it reduces, or another loop nest reads it; write it into a tp.scratch}}
    %5 = tp.compute %4 rows [0] : tensor<8xf32>
    %6 = linalg.exp ins(%5 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %7 = tp.compute %6 rows [0] into %b : tensor<8xf32> into memref<8xf32>
  }
  return %0 : memref<8xf32>
}

// -----

func.func @unknown(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = tp.alloc : memref<4xf32>
  tp.kernel reads(%x : memref<4xf32>) writes(%0 : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<4xf32>):
    %3 = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>
    // expected-error@+1 {{a kernel has no memory for different constants: read a tp.constant}}
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %4 = linalg.add ins(%3, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %5 = tp.compute %4 into %b : tensor<4xf32> into memref<4xf32>
  }
  return %0 : memref<4xf32>
}

// -----

// Weights are gathered where they are used. On devices, which communicate while they
// compute, the gather of a layer does not use the memory of the layer before.

// CHECK-LABEL: @gathered
// CHECK: tp.alloc at 0 : memref<8x8xf32>
// CHECK: tp.alloc at 0 : memref<8x8xf32>
// CHECK: tp.alloc at 0 : memref<8x8xf32>

// CUDA-LABEL: @gathered
// CUDA: %[[A:.*]] = tp.alloc at 0 : memref<8x8xf32>
// CUDA: tp.communicate %arg1 into %[[A]]
// CUDA: %[[B:.*]] = tp.alloc at 256 : memref<8x8xf32>
// CUDA: tp.communicate %arg2 into %[[B]]
// CUDA: %[[C:.*]] = tp.alloc at 0 : memref<8x8xf32>
// CUDA: tp.communicate %arg3 into %[[C]]
func.func @gathered(%x: memref<8x8xf32>, %u: memref<4x8xf32>, %v: memref<4x8xf32>, %w: memref<4x8xf32>) -> (memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) {
  %0 = tp.alloc : memref<8x8xf32>
  tp.communicate %u into %0 : memref<4x8xf32>, memref<8x8xf32> {
  ^bb0(%s: tensor<4x8xf32>):
    %g = tp.all_gather %s dim 0 over <<"dp" = 2>, ["dp"]> : tensor<4x8xf32> -> tensor<8x8xf32>
  }
  %1 = tp.alloc : memref<8x8xf32>
  tp.gemm %x, %0 into %1 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %2 = tp.alloc : memref<8x8xf32>
  tp.communicate %v into %2 : memref<4x8xf32>, memref<8x8xf32> {
  ^bb0(%s: tensor<4x8xf32>):
    %g = tp.all_gather %s dim 0 over <<"dp" = 2>, ["dp"]> : tensor<4x8xf32> -> tensor<8x8xf32>
  }
  %3 = tp.alloc : memref<8x8xf32>
  tp.gemm %x, %2 into %3 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  %4 = tp.alloc : memref<8x8xf32>
  tp.communicate %w into %4 : memref<4x8xf32>, memref<8x8xf32> {
  ^bb0(%s: tensor<4x8xf32>):
    %g = tp.all_gather %s dim 0 over <<"dp" = 2>, ["dp"]> : tensor<4x8xf32> -> tensor<8x8xf32>
  }
  %5 = tp.alloc : memref<8x8xf32>
  tp.gemm %x, %4 into %5 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  return %1, %3, %5 : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
}

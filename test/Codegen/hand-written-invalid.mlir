// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest --verify-diagnostics -o /dev/null

// What a program by hand may get wrong that no op alone can see.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @order(%x: memref<4x2xf32, strided<[1, 4]>>) -> memref<4x2xf32> {
    %0 = tp.alloc : memref<4x2xf32>
    // expected-error@+1 {{expected the source in order, got 'memref<4x2xf32, strided<[1, 4]>>'}}
    tp.communicate %x into %0 : memref<4x2xf32, strided<[1, 4]>>, memref<4x2xf32> {
    ^bb0(%a: tensor<4x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x2xf32> -> tensor<4x2xf32>
    }
    return %0 : memref<4x2xf32>
  }
}

// -----

func.func @matrix(%x: memref<4x4xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [2, 2], strides: [8, 2] : memref<4x4xf32> to memref<2x2xf32, strided<[8, 2]>>
  // expected-error@+1 {{expected contiguous rows or columns, got 'memref<2x2xf32, strided<[8, 2]>>'}}
  tp.gemm %v, %v into %0 : memref<2x2xf32, strided<[8, 2]>>, memref<2x2xf32, strided<[8, 2]>>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @types(%x: memref<2x2xf32>, %y: memref<2x2xf64>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{expected both factors of one element type, got 'f32' and 'f64'}}
  tp.gemm %x, %y into %0 : memref<2x2xf32>, memref<2x2xf64>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @ranks(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{expected a k for each of 1 ranks, got 2}}
  tp.gemm %x, %x into %0 {k_of_rank = array<i64: 1, 2>} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

// expected-error@+1 {{'argument0': expected the elements in an order of dimensions}}
func.func @gaps(%x: memref<2x2xf32, strided<[4, 1]>>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32, strided<[4, 1]>>, memref<2x2xf32, strided<[4, 1]>>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @op(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = tp.alloc : memref<4xf32>
  // expected-error@+1 {{is not one of a rank's program: expected memory, views and commands}}
  memref.copy %x, %0 : memref<4xf32> to memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

func.func @reader(%x: memref<4xf32>) -> memref<f32> {
  %0 = tp.alloc : memref<f32>
  tp.kernel reads(%x : memref<4xf32>) writes(%0 : memref<f32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<f32>):
    %1 = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    // expected-error@+1 {{a kernel has no memory for sums that other ops read}}
    %s = linalg.reduce { arith.addf } ins(%1 : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
    %t = linalg.exp ins(%s : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
    %c = tp.compute %t into %b : tensor<f32> into memref<f32>
  }
  return %0 : memref<f32>
}

// -----

func.func @rows(%x: memref<4x2xf32>) -> memref<4x2xf32> {
  %0 = tp.alloc : memref<4x2xf32>
  tp.kernel reads(%x : memref<4x2xf32>) writes(%0 : memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32>, %b: memref<4x2xf32>):
    %1 = bufferization.to_tensor %a : memref<4x2xf32> to tensor<4x2xf32>
    // expected-error@+1 {{expected each row to be another parallel loop out of 2, got 2}}
    %c = tp.compute %1 rows [2] into %b : tensor<4x2xf32> into memref<4x2xf32>
  }
  return %0 : memref<4x2xf32>
}

// -----

func.func @unwritten(%x: memref<4x2xf32>) -> (memref<4x2xf32>, memref<4x2xf32>) {
  %0 = tp.alloc : memref<4x2xf32>
  %1 = tp.alloc : memref<4x2xf32>
  // expected-error@+1 {{expected one tp.compute that writes buffer #2}}
  tp.kernel reads(%x : memref<4x2xf32>) writes(%0, %1 : memref<4x2xf32>, memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32>, %b: memref<4x2xf32>, %d: memref<4x2xf32>):
    %2 = bufferization.to_tensor %a : memref<4x2xf32> to tensor<4x2xf32>
    %c = tp.compute %2 into %b : tensor<4x2xf32> into memref<4x2xf32>
  }
  return %0, %1 : memref<4x2xf32>, memref<4x2xf32>
}

// -----

func.func @empty(%x: memref<4x2xf32>) -> memref<4x2xf32> {
  %0 = tp.alloc : memref<4x2xf32>
  // expected-error@+1 {{expected a tp.compute}}
  tp.kernel writes(%0 : memref<4x2xf32>) {
  ^bb0(%b: memref<4x2xf32>):
  }
  return %0 : memref<4x2xf32>
}

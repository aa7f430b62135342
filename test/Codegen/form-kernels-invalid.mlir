// RUN: tp-opt %s --split-input-file --tp-form-kernels --verify-diagnostics -o /dev/null

func.func @planned(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error @+1 {{has an offset, expected none: run tp-form-kernels before tp-plan-memory}}
  %0 = tp.alloc at 0 : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %0, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %1 : memref<2x2xf32>
}

// -----

// expected-error @+1 {{expected a memref, got 'tensor<2xf32>'}}
func.func @tensors(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{expected public functions, got a private one: calls are to be inlined before}}
func.func private @hidden(%x: memref<2xf32>) -> memref<2xf32> {
  return %x : memref<2xf32>
}

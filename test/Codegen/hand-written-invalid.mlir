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
  // expected-error@+1 {{expected both factors of one element type, or of f32 and of f16 or bf16, got 'f32' and 'f64'}}
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

// expected-error@+1 {{reaches from element 0 to 5 of memory with 4 elements}}
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
  tp.kernel reads(%x : memref<4x2xf32>) writes(%0 : memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32>, %b: memref<4x2xf32>):
    %1 = bufferization.to_tensor %a : memref<4x2xf32> to tensor<4x2xf32>
    %2 = tp.compute %1 into %b : tensor<4x2xf32> into memref<4x2xf32>
  }
  // expected-error@+1 {{expected a tp.compute}}
  tp.kernel reads(%x : memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32>):
  }
  return %0 : memref<4x2xf32>
}

// -----

// A result is all of its memory, row-major.
func.func @transposed(%x: memref<2x2xf32>) -> memref<2x2xf32, strided<[1, 2]>> {
  %0 = tp.alloc : memref<2x2xf32, strided<[1, 2]>>
  tp.kernel reads(%x : memref<2x2xf32>) writes(%0 : memref<2x2xf32, strided<[1, 2]>>) {
  ^bb0(%a: memref<2x2xf32>, %b: memref<2x2xf32, strided<[1, 2]>>):
    %1 = bufferization.to_tensor %a : memref<2x2xf32> to tensor<2x2xf32>
    %2 = tp.compute %1 into %b : tensor<2x2xf32> into memref<2x2xf32, strided<[1, 2]>>
  }
  // expected-error@+1 {{expected a result to be all of its allocation, row-major}}
  return %0 : memref<2x2xf32, strided<[1, 2]>>
}

// -----

func.func @part(%x: memref<4x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<4x2xf32>
  tp.kernel reads(%x : memref<4x2xf32>) writes(%0 : memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32>, %b: memref<4x2xf32>):
    %1 = bufferization.to_tensor %a : memref<4x2xf32> to tensor<4x2xf32>
    %2 = tp.compute %1 into %b : tensor<4x2xf32> into memref<4x2xf32>
  }
  %v = memref.reinterpret_cast %0 to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4x2xf32> to memref<2x2xf32>
  // expected-error@+1 {{expected a result to be all of its allocation, row-major}}
  return %v : memref<2x2xf32>
}

// -----

func.func @unwrittenResult(%x: memref<4xf32>) -> memref<4xf32> {
  // expected-error@+1 {{is a result that no command writes}}
  %0 = tp.alloc : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

func.func @wide(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{reaches from element 0 to 1001 of memory with 4 elements}}
  %0 = tp.alloc : memref<2x2xf32, strided<[1000, 1]>>
  return %x : memref<2x2xf32>
}

// -----

func.func @repeated(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{expected a place of its own for every element}}
  %0 = tp.alloc : memref<2x2xf32, strided<[0, 1]>>
  return %x : memref<2x2xf32>
}

// -----

func.func @places(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{expected a static shape, and a layout whose dimensions have strides}}
  %0 = tp.alloc : memref<2x2xf32, affine_map<(d0, d1) -> (d1, d0)>>
  return %x : memref<2x2xf32>
}

// -----

func.func @dynamic(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{expected a static shape, and a layout whose dimensions have strides}}
  %0 = tp.alloc : memref<2x2xf32, strided<[?, ?], offset: ?>>
  return %x : memref<2x2xf32>
}

// -----

func.func @overflow(%x: memref<8xf32>) -> memref<8xf32> {
  // expected-error@+1 {{expected a static shape, and a layout whose dimensions have strides}}
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [5, 2], strides: [4611686018427387904, 1] : memref<8xf32> to memref<5x2xf32, strided<[4611686018427387904, 1]>>
  return %x : memref<8xf32>
}

// -----

// expected-error@+1 {{element type 'complex<f32>' is not handled by the CPU target}}
func.func @complex(%x: memref<2xcomplex<f32>>) -> memref<2xf32> {
  %0 = tp.alloc : memref<2xf32>
  return %0 : memref<2xf32>
}

// -----

func.func @argument(%x: memref<2x2xf32>) {
  // expected-error@+1 {{writes an argument or a constant, expected the memory of a tp.alloc}}
  tp.gemm %x, %x into %x : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return
}

// -----

func.func @fresh(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-note@+1 {{the memory is here}}
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{reads memory that no command has written}}
  tp.gemm %x, %x into %0 {beta = 1.0} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @alias(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  // expected-error@+1 {{writes operand #2 over operand #0, which it reads or writes too}}
  tp.gemm %0, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @shifted(%x: memref<8xf32>) -> memref<8xf32> {
  %0 = tp.alloc : memref<8xf32>
  tp.kernel reads(%x : memref<8xf32>) writes(%0 : memref<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
    %1 = bufferization.to_tensor %a : memref<8xf32> to tensor<8xf32>
    %2 = tp.compute %1 into %b : tensor<8xf32> into memref<8xf32>
  }
  %v = memref.reinterpret_cast %0 to offset: [0], sizes: [7], strides: [1] : memref<8xf32> to memref<7xf32, strided<[1]>>
  %w = memref.reinterpret_cast %0 to offset: [1], sizes: [7], strides: [1] : memref<8xf32> to memref<7xf32, strided<[1], offset: 1>>
  // expected-error@+1 {{writes operand #1 over operand #0, which it reads or writes too}}
  tp.kernel reads(%v : memref<7xf32, strided<[1]>>) writes(%w : memref<7xf32, strided<[1], offset: 1>>) {
  ^bb0(%a: memref<7xf32, strided<[1]>>, %b: memref<7xf32, strided<[1], offset: 1>>):
    %1 = bufferization.to_tensor %a : memref<7xf32, strided<[1]>> to tensor<7xf32>
    %2 = tp.compute %1 into %b : tensor<7xf32> into memref<7xf32, strided<[1], offset: 1>>
  }
  return %0 : memref<8xf32>
}

// -----

func.func @twice(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = tp.alloc : memref<4xf32>
  %v = memref.reinterpret_cast %0 to offset: [0], sizes: [2, 2], strides: [0, 1] : memref<4xf32> to memref<2x2xf32, strided<[0, 1]>>
  %y = memref.reinterpret_cast %x to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4xf32> to memref<2x2xf32>
  // expected-error@+1 {{writes two elements in one place}}
  tp.kernel reads(%y : memref<2x2xf32>) writes(%v : memref<2x2xf32, strided<[0, 1]>>) {
  ^bb0(%a: memref<2x2xf32>, %b: memref<2x2xf32, strided<[0, 1]>>):
    %1 = bufferization.to_tensor %a : memref<2x2xf32> to tensor<2x2xf32>
    %2 = tp.compute %1 into %b : tensor<2x2xf32> into memref<2x2xf32, strided<[0, 1]>>
  }
  return %0 : memref<4xf32>
}

// -----

func.func @launched(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = tp.alloc : memref<4xf32>
  // expected-error@+1 {{is not one of a rank's program: expected memory, views and commands}}
  tp.launch @tp_kernel_0(%x, %0 : memref<4xf32>, memref<4xf32>) read [true, false] written [false, true]
  return %0 : memref<4xf32>
}

// -----

func.func @epilogue(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{an epilogue is not handled by the CPU target}}
  tp.gemm %x, %x into %0 gelu : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @narrow(%x: memref<2x2xf16>) -> memref<2x2xf16> {
  %0 = tp.alloc : memref<2x2xf16>
  // expected-error@+1 {{a product that rounds its sums is not handled by the CPU target}}
  tp.gemm %x, %x into %0 : memref<2x2xf16>, memref<2x2xf16>, memref<2x2xf16>
  return %0 : memref<2x2xf16>
}

// -----

func.func @mixed(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-note@+1 {{this has one}}
  %0 = tp.alloc at 1024 : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  // expected-error@+1 {{has no offset, expected one on all memory or on none}}
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %0, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %2 = tp.alloc : memref<2x2xf32>
  tp.gemm %1, %x into %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %2 : memref<2x2xf32>
}

// -----

func.func @resultOffset(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{is a result, which has memory of its own and no offset in the arena}}
  %0 = tp.alloc at 0 : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @far(%x: memref<1xf32>) -> memref<1xf32> {
  // expected-error@+1 {{expected the offset 0, right behind the constant before it, got 70368744177664}}
  %c = tp.constant dense<1.0> : tensor<1xf32> at 70368744177664 to memref<1xf32>
  %0 = tp.alloc : memref<1xf32>
  tp.kernel reads(%c : memref<1xf32>) writes(%0 : memref<1xf32>) {
  ^bb0(%a: memref<1xf32>, %b: memref<1xf32>):
    %1 = bufferization.to_tensor %a : memref<1xf32> to tensor<1xf32>
    %2 = tp.compute %1 into %b : tensor<1xf32> into memref<1xf32>
  }
  return %0 : memref<1xf32>
}

// -----

// Two that one command writes may not share memory.
func.func @two(%x: memref<16xf32>) -> memref<16xf32> {
  // expected-note@+1 {{that memory is here}}
  %0 = tp.alloc at 0 : memref<16xf32>
  // expected-error@+1 {{overlaps memory that is needed at the same time, from byte 0}}
  %1 = tp.alloc at 0 : memref<16xf32>
  tp.kernel reads(%x : memref<16xf32>) writes(%0, %1 : memref<16xf32>, memref<16xf32>) {
  ^bb0(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>):
    %3 = bufferization.to_tensor %a : memref<16xf32> to tensor<16xf32>
    %e = tensor.empty() : tensor<16xf32>
    %4 = linalg.exp ins(%3 : tensor<16xf32>) outs(%e : tensor<16xf32>) -> tensor<16xf32>
    %5 = tp.compute %4 into %d : tensor<16xf32> into memref<16xf32>
    %6 = tp.compute %3 into %b : tensor<16xf32> into memref<16xf32>
  }
  %2 = tp.alloc : memref<16xf32>
  tp.kernel reads(%1 : memref<16xf32>) writes(%2 : memref<16xf32>) {
  ^bb0(%a: memref<16xf32>, %b: memref<16xf32>):
    %3 = bufferization.to_tensor %a : memref<16xf32> to tensor<16xf32>
    %4 = tp.compute %3 into %b : tensor<16xf32> into memref<16xf32>
  }
  return %2 : memref<16xf32>
}

// -----

func.func @steps(%q: memref<1x1x2x4xf32>, %s: memref<2x2xf32>) -> memref<1x1x2x4xf32> {
  %0 = tp.alloc : memref<1x1x2x4xf32>
  %1 = tp.alloc : memref<2x2xf32>
  %o = memref.reinterpret_cast %0 to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<1x1x2x4xf32> to memref<2x4xf32>
  %v = memref.reinterpret_cast %q to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<1x1x2x4xf32> to memref<2x4xf32>
  // expected-error@+1 {{expected no steps, as the CPU target runs the attention itself}}
  tp.attention %q, %q, %q into %0 scale 1.0 flops 64 bytes 128 {
    tp.gemm %s, %v into %o : memref<2x2xf32>, memref<2x4xf32>, memref<2x4xf32>
  } : memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>
  return %0 : memref<1x1x2x4xf32>
}

// -----

func.func @inplace(%x: memref<1x1x2x4xf32>) -> memref<1x1x2x4xf32> {
  %0 = tp.alloc : memref<1x1x2x4xf32>
  tp.attention %x, %x, %x into %0 scale 1.0 flops 64 bytes 128 {
  } : memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>
  // expected-error@+1 {{over operand #2, which it reads or writes too}}
  tp.attention %x, %x, %0 into %0 scale 1.0 flops 64 bytes 128 {
  } : memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>
  return %0 : memref<1x1x2x4xf32>
}

// -----

func.func @columns(%x: memref<1x1x4x4xf32>) -> memref<1x1x4x4xf32> {
  %0 = tp.alloc : memref<1x1x4x4xf32>
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [1, 1, 4, 4], strides: [16, 16, 1, 4] : memref<1x1x4x4xf32> to memref<1x1x4x4xf32, strided<[16, 16, 1, 4]>>
  // expected-error@+1 {{expected contiguous columns of 'f32'}}
  tp.attention %x, %t, %x into %0 scale 1.0 flops 64 bytes 128 {
  } : memref<1x1x4x4xf32>, memref<1x1x4x4xf32, strided<[16, 16, 1, 4]>>, memref<1x1x4x4xf32>, memref<1x1x4x4xf32>
  return %0 : memref<1x1x4x4xf32>
}

// -----

func.func @in_other(%x: memref<4xf32>, %s: memref<4xf32> {tp.name = "s"}) -> (memref<4xf32> {tp.updates = "s"}) {
  // expected-error@+1 {{expected memory of the argument that the allocation, as a result, updates}}
  %0 = tp.alloc in %x of memref<4xf32> : memref<4xf32>
  tp.kernel reads(%s : memref<4xf32>) writes(%0 : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<4xf32>):
    %1 = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>
    %2 = tp.compute %1 into %b : tensor<4xf32> into memref<4xf32>
  }
  return %0 : memref<4xf32>
}

// -----

func.func @in_smaller(%s: memref<4xf32> {tp.name = "s"}) -> (memref<8xf32> {tp.updates = "s"}) {
  // expected-error@+1 {{has as many elements as the memory that it is in, of one type, got 'memref<8xf32>' in 'memref<4xf32>'}}
  %0 = tp.alloc in %s of memref<4xf32> : memref<8xf32>
  return %0 : memref<8xf32>
}

// -----

func.func @in_at(%s: memref<4xf32> {tp.name = "s"}) -> (memref<4xf32> {tp.updates = "s"}) {
  // expected-error@+1 {{is in an argument's memory, expected no offset}}
  %0 = tp.alloc at 0 in %s of memref<4xf32> : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

func.func @read_after(%x: memref<2x2xf32>, %s: memref<2x2xf32> {tp.name = "s"}) -> (memref<2x2xf32> {tp.updates = "s"}, memref<2x2xf32>) {
  // expected-note@+1 {{the result's memory is here}}
  %0 = tp.alloc in %s of memref<2x2xf32> : memref<2x2xf32>
  // expected-note@+1 {{it is written here}}
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{reads an argument after the result in its memory is written: expected tp-schedule before}}
  tp.gemm %x, %s into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
}

// -----

func.func @scatter_without_a_reduction(%x: memref<9x8xf32>, %p: memref<1x1xi64>) -> memref<8x9xf32> {
  %0 = tp.alloc : memref<8x9xf32>
  tp.kernel reads(%x, %p : memref<9x8xf32>, memref<1x1xi64>) writes(%0 : memref<8x9xf32>) {
  ^bb0(%a: memref<9x8xf32>, %b: memref<1x1xi64>, %c: memref<8x9xf32>):
    %1 = bufferization.to_tensor %a : memref<9x8xf32> to tensor<9x8xf32>
    %2 = bufferization.to_tensor %b : memref<1x1xi64> to tensor<1x1xi64>
    %3 = tensor.collapse_shape %1 [[0, 1]] : tensor<9x8xf32> into tensor<72xf32>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [8, 9] : tensor<72xf32> into tensor<8x9xf32>
    // expected-error @+1 {{does not reduce, expected a scatter of a reduction}}
    %5 = tp.compute %4 into %c scatter [0] at %2 : tensor<8x9xf32> into memref<8x9xf32> at tensor<1x1xi64>
  }
  return %0 : memref<8x9xf32>
}

// -----

func.func @rows_of_another_shape(%x: memref<3x2xf32>, %rows: memref<2xi1>) -> memref<3x3xf32> {
  %0 = tp.alloc : memref<3x3xf32>
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [2, 3], strides: [1, 2] : memref<3x2xf32> to memref<2x3xf32, strided<[1, 2]>>
  // expected-error @+1 {{the rows are i1 of batch x m, got 'memref<2xi1>'}}
  tp.gemm %x, %t into %0 rows %rows : memref<3x2xf32>, memref<2x3xf32, strided<[1, 2]>>, memref<3x3xf32> rows memref<2xi1>
  return %0 : memref<3x3xf32>
}

// -----

func.func @rows_that_are_added_to(%x: memref<2x2xf32>, %rows: memref<2xi1>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error @+1 {{with rows has beta 0, and nothing is added}}
  tp.gemm %x, %x into %0 rows %rows {beta = 1.0} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32> rows memref<2xi1>
  return %0 : memref<2x2xf32>
}

// -----

func.func @condition_of_another_shape(%x: memref<3x2xf32>, %p: memref<2xi1>) -> memref<3x2xf32> {
  %0 = tp.alloc : memref<3x2xf32>
  tp.kernel reads(%x, %p : memref<3x2xf32>, memref<2xi1>) writes(%0 : memref<3x2xf32>) {
  ^bb0(%a: memref<3x2xf32>, %b: memref<2xi1>, %c: memref<3x2xf32>):
    %1 = bufferization.to_tensor %a : memref<3x2xf32> to tensor<3x2xf32>
    %2 = bufferization.to_tensor %b : memref<2xi1> to tensor<2xi1>
    %3 = tensor.expand_shape %2 [[0, 1]] output_shape [2, 1] : tensor<2xi1> into tensor<2x1xi1>
    // expected-error @+1 {{expected a condition with the value's dimensions, each of its size or of 1, got 'tensor<3x2xf32>' and 'tensor<2x1xi1>'}}
    %4 = tp.compute %1 into %c where %3 : tensor<3x2xf32> into memref<3x2xf32> where tensor<2x1xi1>
  }
  return %0 : memref<3x2xf32>
}

// -----

func.func @condition_of_a_reduction(%x: memref<3x2xf32>, %p: memref<3xi1>) -> memref<3xf32> {
  %0 = tp.alloc : memref<3xf32>
  tp.kernel reads(%x, %p : memref<3x2xf32>, memref<3xi1>) writes(%0 : memref<3xf32>) {
  ^bb0(%a: memref<3x2xf32>, %b: memref<3xi1>, %c: memref<3xf32>):
    %1 = bufferization.to_tensor %a : memref<3x2xf32> to tensor<3x2xf32>
    %2 = bufferization.to_tensor %b : memref<3xi1> to tensor<3xi1>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<3xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
    %3 = linalg.reduce { arith.addf } ins(%1 : tensor<3x2xf32>) outs(%f : tensor<3xf32>) dimensions = [1]
    // expected-error @+1 {{reduces, expected a condition of a value that does not}}
    %4 = tp.compute %3 into %c where %2 : tensor<3xf32> into memref<3xf32> where tensor<3xi1>
  }
  return %0 : memref<3xf32>
}

// -----

func.func @condition_beside_another_loop(%x: memref<3x2xf32>, %p: memref<3xi1>) -> (memref<3x2xf32>, memref<3x2xf32>) {
  %0 = tp.alloc : memref<3x2xf32>
  %1 = tp.alloc : memref<3x2xf32>
  tp.kernel reads(%x, %p : memref<3x2xf32>, memref<3xi1>) writes(%0, %1 : memref<3x2xf32>, memref<3x2xf32>) {
  ^bb0(%a: memref<3x2xf32>, %b: memref<3xi1>, %c: memref<3x2xf32>, %d: memref<3x2xf32>):
    %2 = bufferization.to_tensor %a : memref<3x2xf32> to tensor<3x2xf32>
    %3 = bufferization.to_tensor %b : memref<3xi1> to tensor<3xi1>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [3, 1] : tensor<3xi1> into tensor<3x1xi1>
    %5 = tp.compute %2 into %d : tensor<3x2xf32> into memref<3x2xf32>
    // expected-error @+1 {{has a condition, expected no other compute loop in its kernel}}
    %6 = tp.compute %2 into %c where %4 : tensor<3x2xf32> into memref<3x2xf32> where tensor<3x1xi1>
  }
  return %0, %1 : memref<3x2xf32>, memref<3x2xf32>
}

// -----

func.func @places_of_another_shape(%x: memref<3x2x2xf32>, %t: memref<5x2x2xf32>, %p: memref<2xi64>) -> memref<3x2x2xf32> {
  %0 = tp.alloc : memref<3x2x2xf32>
  // expected-error @+1 {{the places of matrices are i64 of batch, got 'memref<2xi64>'}}
  tp.gemm %x, %t into %0 lookup %p : memref<3x2x2xf32>, memref<5x2x2xf32>, memref<3x2x2xf32> lookup memref<2xi64>
  return %0 : memref<3x2x2xf32>
}

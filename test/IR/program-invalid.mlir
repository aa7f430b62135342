// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{constants are row-major}}
func.func @order() { %c = "tp.constant"() {value = dense<1.0> : tensor<2x3xf32>} : () -> memref<2x3xf32, strided<[1, 2]>> return }

// -----

func.func @constant() {
  // expected-error@+1 {{the memref has the shape and the element type of}}
  %c = tp.constant dense<1.0> : tensor<2xf32> to memref<3xf32>
  return
}

// -----

func.func @offset() {
  // expected-error@+1 {{an offset is 0 or more, got -64}}
  %0 = tp.alloc at -64 : memref<3xf32>
  return
}

// -----

func.func @arguments(%x: memref<6xf32>) {
  // expected-error@+1 {{the block has one argument for each buffer}}
  tp.kernel reads(%x : memref<6xf32>) {
  ^bb0(%arg0: memref<5xf32>):
  }
  return
}

// -----

func.func @writes(%x: memref<6xf32>) {
  // expected-error@+1 {{buffer #0 is one that is read, but is written}}
  tp.kernel reads(%x : memref<6xf32>) {
  ^bb0(%arg0: memref<6xf32>):
    %0 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
    // expected-note@+1 {{by this op}}
    %1 = tp.compute %0 into %arg0 : tensor<6xf32> into memref<6xf32>
  }
  return
}

// -----

func.func @writes_nothing(%x: memref<6xf32>) {
  // expected-error@+1 {{expected one tp.compute that writes buffer #0}}
  tp.kernel writes(%x : memref<6xf32>) {
  ^bb0(%arg0: memref<6xf32>):
  }
  return
}

// -----

func.func @reads(%x: memref<6xf32>) {
  // expected-error@+1 {{buffer #0 is one that is written, but is read: use the result of its tp.compute}}
  tp.kernel writes(%x : memref<6xf32>) {
  ^bb0(%arg0: memref<6xf32>):
    // expected-note@+1 {{by this op}}
    %0 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
  }
  return
}

// -----

func.func @twice(%x: memref<6xf32>) {
  // expected-error@+1 {{a buffer that is written is given once}}
  tp.kernel reads(%x : memref<6xf32>) writes(%x : memref<6xf32>) {
  ^bb0(%arg0: memref<6xf32>, %arg1: memref<6xf32>):
  }
  return
}

// -----

func.func @compute(%x: memref<6xf32>, %y: memref<5xf32>) {
  tp.kernel reads(%x : memref<6xf32>) writes(%y : memref<5xf32>) {
  ^bb0(%arg0: memref<6xf32>, %arg1: memref<5xf32>):
    %0 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
    // expected-error@+1 {{a value and its buffer have one shape and element type}}
    %1 = tp.compute %0 into %arg1 : tensor<6xf32> into memref<5xf32>
  }
  return
}

// -----

func.func @gemm(%x: memref<4x8xf32>, %y: memref<4x6xf32>) {
  // expected-error@+1 {{expected batch x m x k, batch x k x n and batch x m x n}}
  tp.gemm %x, %x into %y : memref<4x8xf32>, memref<4x8xf32>, memref<4x6xf32>
  return
}

// -----

func.func @strides(%x: memref<4x4xf32, affine_map<(d0, d1) -> (d0 * 4 + d1 mod 2 + (d1 floordiv 2) * 8)>>, %y: memref<4x4xf32>) {
  // expected-error@+1 {{operands have one stride per dimension}}
  tp.gemm %x, %y into %y : memref<4x4xf32, affine_map<(d0, d1) -> (d0 * 4 + d1 mod 2 + (d1 floordiv 2) * 8)>>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @bias(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %b: memref<3xf32>) {
  // expected-error@+1 {{the bias has 4 elements}}
  tp.gemm %x, %x into %y bias %b : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> bias memref<3xf32>
  return
}

// -----

func.func @k(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  // expected-error@+1 {{a rank's k is at most 4, got 5}}
  tp.gemm %x, %x into %y {k_of_rank = array<i64: 4, 5>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @communicate(%x: memref<4xf32>) {
  // expected-error@+1 {{expected one collective that reads the block's argument}}
  tp.communicate %x into %x : memref<4xf32>, memref<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = tensor.empty() : tensor<4xf32>
  }
  return
}

// -----

func.func @shapes(%x: memref<4xf32>) {
  // expected-error@+1 {{the buffers have the shapes and the element type of the collective}}
  tp.communicate %x into %x : memref<4xf32>, memref<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = tp.all_gather %a dim 0 over <<"tp" = 2>, ["tp"]> : tensor<4xf32> -> tensor<8xf32>
  }
  return
}

// -----

func.func @launch(%x: memref<4xf32>) {
  // expected-error@+1 {{'read' and 'written' tell of each of the 1 buffers}}
  tp.launch @f(%x : memref<4xf32>) read [true] written []
  return
}

// -----

func.func @heads(%q: memref<1x3x4x8xf16>, %k: memref<1x2x6x8xf16>) {
  // expected-error@+1 {{expected batch x heads x rows x columns}}
  tp.attention %q, %k, %k into %q scale 0.125 flops 64 bytes 128 {
  } : memref<1x3x4x8xf16>, memref<1x2x6x8xf16>, memref<1x2x6x8xf16>, memref<1x3x4x8xf16>
  return
}

// -----

func.func @state_of_a_whole(%q: memref<1x2x4x8xf32>, %k: memref<1x2x6x8xf32>, %o: memref<1x2x4x8xf32>) {
  // expected-error@+1 {{a state is what an attention with 'partial' adds to}}
  tp.attention %q, %k, %k onto %o into %o scale 0.125 flops 64 bytes 128 {
  } : memref<1x2x4x8xf32>, memref<1x2x6x8xf32>, memref<1x2x6x8xf32>, memref<1x2x4x8xf32> onto memref<1x2x4x8xf32>
  return
}

// -----

func.func @state_too_narrow(%q: memref<1x2x4x8xf32>, %k: memref<1x2x6x8xf32>, %o: memref<1x2x4x8xf32>) {
  // expected-error@+1 {{expected batch x heads x rows x columns, of the output two more, got}}
  tp.attention %q, %k, %k into %o partial scale 0.125 flops 64 bytes 128 {
  } : memref<1x2x4x8xf32>, memref<1x2x6x8xf32>, memref<1x2x6x8xf32>, memref<1x2x4x8xf32>
  return
}

// -----

func.func @state_of_f16(%q: memref<1x2x4x8xf16>, %k: memref<1x2x6x8xf16>, %o: memref<1x2x4x10xf16>) {
  // expected-error@+1 {{a state is of 'f32', got 'memref<1x2x4x10xf16>'}}
  tp.attention %q, %k, %k into %o partial scale 0.125 flops 64 bytes 128 {
  } : memref<1x2x4x8xf16>, memref<1x2x6x8xf16>, memref<1x2x6x8xf16>, memref<1x2x4x10xf16>
  return
}

// -----

func.func @other_state(%q: memref<1x2x4x8xf32>, %k: memref<1x2x6x8xf32>, %s: memref<1x2x4x10xf64>, %o: memref<1x2x4x10xf32>) {
  // expected-error@+1 {{the state has the output's type, 'memref<1x2x4x10xf32>', got 'memref<1x2x4x10xf64>'}}
  tp.attention %q, %k, %k onto %s into %o partial scale 0.125 flops 64 bytes 128 {
  } : memref<1x2x4x8xf32>, memref<1x2x6x8xf32>, memref<1x2x6x8xf32>, memref<1x2x4x10xf32> onto memref<1x2x4x10xf64>
  return
}

// -----

func.func @empty_rows_of_a_chunk(%q: memref<1x2x4x8xf32>, %k: memref<1x2x6x8xf32>, %o: memref<1x2x4x10xf32>) {
  // expected-error@+1 {{expected no 'empty_rows' with 'partial': other chunks may have keys}}
  tp.attention %q, %k, %k into %o partial scale 0.125 empty_rows "nan" flops 64 bytes 128 {
  } : memref<1x2x4x8xf32>, memref<1x2x6x8xf32>, memref<1x2x6x8xf32>, memref<1x2x4x10xf32>
  return
}

// -----

func.func @resource() {
  // expected-error@+1 {{expected dense elements}}
  %c = tp.constant sparse<[[0]], [1.0]> : tensor<2xf32> to memref<2xf32>
  return
}

// -----

func.func @same(%x: memref<6xf32>, %y: memref<6xf32>, %z: memref<6xf32>) {
  tp.kernel reads(%x : memref<6xf32>) writes(%y, %z : memref<6xf32>, memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>, %c: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    // expected-error@+1 {{a value is computed once, got value #1 twice}}
    %1:2 = tp.compute %0, %0 into %b, %c : tensor<6xf32>, tensor<6xf32> into memref<6xf32>, memref<6xf32>
  }
  return
}

// RUN: tp-opt %s --split-input-file --tp-map-kernels --verify-diagnostics -o /dev/null
// RUN: not tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU

// CPU: 'tp.mapping' is not handled by the CPU target, whose kernels run on one thread

// A mapping by hand that a kernel does not allow.

func.func @text(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected a dictionary, got "fast"}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = "fast"}
  return %0 : memref<1024xf32>
}

// -----

func.func @kind(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'kind' to be "pointwise", which the loops of this kernel can be}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "rows"}}
  return %0 : memref<1024xf32>
}

// -----

func.func @no_block(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected an i64 as 'block'}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", packets = 1, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @narrow_number(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected an i64 as 'block'}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64 : i32, packets = 1, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @field(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': 'group' is no field of "pointwise"}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, group = 32, packets = 1, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @wide(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'vectors' to be a power of two from 1 to 4, got 8}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, packets = 1, vectors = array<i64: 8>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @odd(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'vectors' to be a power of two from 1 to 4, got 3}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, packets = 1, vectors = array<i64: 3>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @two(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 1 numbers as 'vectors', got 2}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, packets = 1, vectors = array<i64: 4, 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @block(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'block' to be a multiple of 32 up to 512, got 100}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 100, packets = 1, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @large_block(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'block' to be a multiple of 32 up to 512, got 1024}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 1024, packets = 1, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @packets(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  // expected-error@+1 {{'tp.mapping': expected 'packets' to be a power of two from 1 to 8, got 16}}
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, packets = 16, vectors = array<i64: 4>}}
  return %0 : memref<1024xf32>
}

// -----

func.func @tiles(%x: memref<64x128xf32>) -> memref<128x64xf32> {
  %0 = tp.alloc : memref<128x64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'kind' to be "tiles" or "pointwise", which the loops of this kernel can be}}
  tp.kernel reads(%x : memref<64x128xf32>) writes(%0 : memref<128x64xf32>) {
  ^bb0(%a: memref<64x128xf32>, %b: memref<128x64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x128xf32> to tensor<64x128xf32>
    %2 = tensor.empty() : tensor<128x64xf32>
    %3 = linalg.transpose ins(%1 : tensor<64x128xf32>) outs(%2 : tensor<128x64xf32>) permutation = [1, 0]
    %4 = tp.compute %3 into %b : tensor<128x64xf32> into memref<128x64xf32>
  } {tp.mapping = {kind = "rows"}}
  return %0 : memref<128x64xf32>
}

// -----

func.func @loop(%x: memref<64x128xf32>) -> memref<128x64xf32> {
  %0 = tp.alloc : memref<128x64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'loop' to be 0, along which the kernel reads, got 1}}
  tp.kernel reads(%x : memref<64x128xf32>) writes(%0 : memref<128x64xf32>) {
  ^bb0(%a: memref<64x128xf32>, %b: memref<128x64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x128xf32> to tensor<64x128xf32>
    %2 = tensor.empty() : tensor<128x64xf32>
    %3 = linalg.transpose ins(%1 : tensor<64x128xf32>) outs(%2 : tensor<128x64xf32>) permutation = [1, 0]
    %4 = tp.compute %3 into %b : tensor<128x64xf32> into memref<128x64xf32>
  } {tp.mapping = {kind = "tiles", block = 256, loop = 1, tile = 64, vectors = array<i64: 4>}}
  return %0 : memref<128x64xf32>
}

// -----

func.func @tile(%x: memref<64x128xf32>) -> memref<128x64xf32> {
  %0 = tp.alloc : memref<128x64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'tile' to be a power of two from 16 to 64, got 128}}
  tp.kernel reads(%x : memref<64x128xf32>) writes(%0 : memref<128x64xf32>) {
  ^bb0(%a: memref<64x128xf32>, %b: memref<128x64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x128xf32> to tensor<64x128xf32>
    %2 = tensor.empty() : tensor<128x64xf32>
    %3 = linalg.transpose ins(%1 : tensor<64x128xf32>) outs(%2 : tensor<128x64xf32>) permutation = [1, 0]
    %4 = tp.compute %3 into %b : tensor<128x64xf32> into memref<128x64xf32>
  } {tp.mapping = {kind = "tiles", block = 256, loop = 0, tile = 128, vectors = array<i64: 4>}}
  return %0 : memref<128x64xf32>
}

// -----

func.func @group(%x: memref<64x4096xf32>) -> memref<64xf32> {
  %0 = tp.alloc : memref<64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'group' to be 1, or 32 or more, got 8}}
  tp.kernel reads(%x : memref<64x4096xf32>) writes(%0 : memref<64xf32>) {
  ^bb0(%a: memref<64x4096xf32>, %b: memref<64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x4096xf32> to tensor<64x4096xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<64xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<64x4096xf32>) outs(%3 : tensor<64xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<64xf32> into memref<64xf32>
  } {tp.mapping = {kind = "rows", block = 128, group = 8, packets = 1, split = 1, vectors = array<i64: 4>, held = array<i1: false>}}
  return %0 : memref<64xf32>
}

// -----

func.func @group_block(%x: memref<64x4096xf32>) -> memref<64xf32> {
  %0 = tp.alloc : memref<64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'block' to be 64 for a 'group' of 64, got 128}}
  tp.kernel reads(%x : memref<64x4096xf32>) writes(%0 : memref<64xf32>) {
  ^bb0(%a: memref<64x4096xf32>, %b: memref<64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x4096xf32> to tensor<64x4096xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<64xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<64x4096xf32>) outs(%3 : tensor<64xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<64xf32> into memref<64xf32>
  } {tp.mapping = {kind = "rows", block = 128, group = 64, packets = 1, split = 1, vectors = array<i64: 4>, held = array<i1: false>}}
  return %0 : memref<64xf32>
}

// -----

func.func @split(%x: memref<64x4096xf32>) -> memref<64xf32> {
  %0 = tp.alloc : memref<64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'split' from 1 to 1, got 2}}
  tp.kernel reads(%x : memref<64x4096xf32>) writes(%0 : memref<64xf32>) {
  ^bb0(%a: memref<64x4096xf32>, %b: memref<64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x4096xf32> to tensor<64x4096xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<64xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<64x4096xf32>) outs(%3 : tensor<64xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<64xf32> into memref<64xf32>
  } {tp.mapping = {kind = "rows", block = 256, group = 256, packets = 1, split = 2, vectors = array<i64: 4>, held = array<i1: false>}}
  return %0 : memref<64xf32>
}

// -----

func.func @held(%x: memref<64x4096xf32>) -> memref<64xf32> {
  %0 = tp.alloc : memref<64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'held' to be false for loop nest 0, whose elements do not fit into registers}}
  tp.kernel reads(%x : memref<64x4096xf32>) writes(%0 : memref<64xf32>) {
  ^bb0(%a: memref<64x4096xf32>, %b: memref<64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x4096xf32> to tensor<64x4096xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<64xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<64x4096xf32>) outs(%3 : tensor<64xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<64xf32> into memref<64xf32>
  } {tp.mapping = {kind = "rows", block = 128, group = 32, packets = 1, split = 1, vectors = array<i64: 4>, held = array<i1: true>}}
  return %0 : memref<64xf32>
}

// -----

func.func @one_thread(%x: memref<64x4096xf32>) -> memref<64xf32> {
  %0 = tp.alloc : memref<64xf32>
  // expected-error@+1 {{'tp.mapping': expected 'vectors' to be 1 where 'group' is}}
  tp.kernel reads(%x : memref<64x4096xf32>) writes(%0 : memref<64xf32>) {
  ^bb0(%a: memref<64x4096xf32>, %b: memref<64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x4096xf32> to tensor<64x4096xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<64xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<64x4096xf32>) outs(%3 : tensor<64xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<64xf32> into memref<64xf32>
  } {tp.mapping = {kind = "rows", block = 128, group = 1, packets = 1, split = 1, vectors = array<i64: 4>, held = array<i1: false>}}
  return %0 : memref<64xf32>
}

// RUN: tp-opt %s --split-input-file --tp-map-kernels | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-map-kernels -o %t.once
// RUN: tp-opt %t.once --split-input-file --tp-map-kernels | diff %t.once -
// RUN: tp-opt %s --split-input-file --tp-cuda-compile=show=launches -o /dev/null > %t.launches
// RUN: tp-opt %t.once --split-input-file --tp-cuda-compile=show=launches -o /dev/null | diff %t.launches -
// RUN: FileCheck %s --check-prefix=LAUNCH --input-file=%t.launches

// No reduction: a thread per packet of 16 bytes.

// CHECK-LABEL: @pointwise
// CHECK: {tp.mapping = {block = 256 : i64, kind = "pointwise", packets = 1 : i64, vectors = array<i64: 4>}}
func.func @pointwise(%x: memref<1024xf32>) -> memref<1024xf32> {
  %0 = tp.alloc : memref<1024xf32>
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %1 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %2 = tensor.empty() : tensor<1024xf32>
    %3 = linalg.exp ins(%1 : tensor<1024xf32>) outs(%2 : tensor<1024xf32>) -> tensor<1024xf32>
    %4 = tp.compute %3 into %b : tensor<1024xf32> into memref<1024xf32>
  }
  return %0 : memref<1024xf32>
}

// -----

// What is read along one loop and written along the other one goes through a tile.

// CHECK-LABEL: @tiles
// CHECK: {tp.mapping = {block = 256 : i64, kind = "tiles", loop = 0 : i64, tile = 64 : i64, vectors = array<i64: 4>}}
func.func @tiles(%x: memref<64x128xf32>) -> memref<128x64xf32> {
  %0 = tp.alloc : memref<128x64xf32>
  tp.kernel reads(%x : memref<64x128xf32>) writes(%0 : memref<128x64xf32>) {
  ^bb0(%a: memref<64x128xf32>, %b: memref<128x64xf32>):
    %1 = bufferization.to_tensor %a : memref<64x128xf32> to tensor<64x128xf32>
    %2 = tensor.empty() : tensor<128x64xf32>
    %3 = linalg.transpose ins(%1 : tensor<64x128xf32>) outs(%2 : tensor<128x64xf32>) permutation = [1, 0]
    %4 = tp.compute %3 into %b : tensor<128x64xf32> into memref<128x64xf32>
  }
  return %0 : memref<128x64xf32>
}

// -----

// A warp per row, which stays in registers.

// CHECK-LABEL: @rows
// CHECK: {tp.mapping = {block = 128 : i64, group = 32 : i64, held = array<i1: true>, kind = "rows", packets = 1 : i64, split = 1 : i64, vectors = array<i64: 4>}}
func.func @rows(%x: memref<512x256xf32>) -> memref<512xf32> {
  %0 = tp.alloc : memref<512xf32>
  tp.kernel reads(%x : memref<512x256xf32>) writes(%0 : memref<512xf32>) {
  ^bb0(%a: memref<512x256xf32>, %b: memref<512xf32>):
    %1 = bufferization.to_tensor %a : memref<512x256xf32> to tensor<512x256xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<512xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<512xf32>) -> tensor<512xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<512x256xf32>) outs(%3 : tensor<512xf32>) dimensions = [1]
    %5 = tp.compute %4 rows [0] into %b : tensor<512xf32> into memref<512xf32>
  }
  return %0 : memref<512xf32>
}

// -----

// The sum of the rows of a matrix: columns over the threads of a warp.

// CHECK-LABEL: @columns
// CHECK: {tp.mapping = {block = {{[0-9]+}} : i64, group = {{[0-9]+}} : i64, kind = "columns", packets = {{[0-9]+}} : i64, split = {{[0-9]+}} : i64, vectors = array<i64: 4>}}
func.func @columns(%x: memref<512x256xf32>) -> memref<256xf32> {
  %0 = tp.alloc : memref<256xf32>
  tp.kernel reads(%x : memref<512x256xf32>) writes(%0 : memref<256xf32>) {
  ^bb0(%a: memref<512x256xf32>, %b: memref<256xf32>):
    %1 = bufferization.to_tensor %a : memref<512x256xf32> to tensor<512x256xf32>
    %zero = arith.constant 0.0 : f32
    %2 = tensor.empty() : tensor<256xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<256xf32>) -> tensor<256xf32>
    %4 = linalg.reduce { arith.addf } ins(%1 : tensor<512x256xf32>) outs(%3 : tensor<256xf32>) dimensions = [0]
    %5 = tp.compute %4 into %b : tensor<256xf32> into memref<256xf32>
  }
  return %0 : memref<256xf32>
}

// -----

// A mapping by hand stays, and equal kernels may have two.

// LAUNCH: "block":[64,1,1]{{.*}}"grid":[4,1,1]
// LAUNCH-NEXT: "block":[256,1,1]{{.*}}"grid":[1,1,1]
// CHECK-LABEL: @by_hand
// CHECK: {tp.mapping = {block = 64 : i64, kind = "pointwise", packets = 2 : i64, vectors = array<i64: 2>}}
// CHECK: {tp.mapping = {block = 256 : i64, kind = "pointwise", packets = 1 : i64, vectors = array<i64: 4>}}
func.func @by_hand(%x: memref<1024xf32>) -> (memref<1024xf32>, memref<1024xf32>) {
  %0 = tp.alloc : memref<1024xf32>
  tp.kernel reads(%x : memref<1024xf32>) writes(%0 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %2 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %3 = tensor.empty() : tensor<1024xf32>
    %4 = linalg.exp ins(%2 : tensor<1024xf32>) outs(%3 : tensor<1024xf32>) -> tensor<1024xf32>
    %5 = tp.compute %4 into %b : tensor<1024xf32> into memref<1024xf32>
  } {tp.mapping = {kind = "pointwise", block = 64, packets = 2, vectors = array<i64: 2>}}
  %1 = tp.alloc : memref<1024xf32>
  tp.kernel reads(%x : memref<1024xf32>) writes(%1 : memref<1024xf32>) {
  ^bb0(%a: memref<1024xf32>, %b: memref<1024xf32>):
    %2 = bufferization.to_tensor %a : memref<1024xf32> to tensor<1024xf32>
    %3 = tensor.empty() : tensor<1024xf32>
    %4 = linalg.exp ins(%2 : tensor<1024xf32>) outs(%3 : tensor<1024xf32>) -> tensor<1024xf32>
    %5 = tp.compute %4 into %b : tensor<1024xf32> into memref<1024xf32>
  }
  return %0, %1 : memref<1024xf32>, memref<1024xf32>
}

// RUN: tp-opt %s | tp-opt | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<4x8xf32>, %w: memref<8x6xf32, strided<[1, 8]>>) -> memref<16x6xf32> {
  // CHECK: %[[C:.*]] = tp.constant dense<{{.*}}> : tensor<6xf32> at 64 to memref<6xf32>
  %c = tp.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32> at 64 to memref<6xf32>
  // CHECK: %[[A:.*]] = tp.alloc at 128 : memref<4x8xf32>
  %0 = tp.alloc at 128 : memref<4x8xf32>
  // CHECK: tp.kernel reads(%{{.*}} : memref<4x8xf32>) writes(%[[A]] : memref<4x8xf32>) {
  tp.kernel reads(%x : memref<4x8xf32>) writes(%0 : memref<4x8xf32>) {
  ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>):
    %a = bufferization.to_tensor %arg0 : memref<4x8xf32> to tensor<4x8xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %b = linalg.exp ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    // CHECK: tp.compute %{{.*}} rows [0] : tensor<4x8xf32>
    %h = tp.compute %b rows [0] : tensor<4x8xf32>
    %d = linalg.add ins(%h, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    // CHECK: %[[S:.*]] = tp.scratch : memref<4x8xf32>
    %s = tp.scratch : memref<4x8xf32>
    // CHECK: tp.compute %{{.*}} rows [0] into %[[S]] : tensor<4x8xf32> into memref<4x8xf32>
    %f = tp.compute %d rows [0] into %s : tensor<4x8xf32> into memref<4x8xf32>
    // CHECK: tp.compute %{{.*}} rows [0] into %{{.*}} : tensor<4x8xf32> into memref<4x8xf32>
    %g = tp.compute %f rows [0] into %arg1 : tensor<4x8xf32> into memref<4x8xf32>
  }
  %1 = tp.alloc : memref<4x6xf32>
  // CHECK: tp.gemm %[[A]], %{{.*}} into %{{.*}} bias %[[C]] gelu {alpha = 5.000000e-01 : f64} : memref<4x8xf32>, memref<8x6xf32, strided<[1, 8]>>, memref<4x6xf32> bias memref<6xf32>
  tp.gemm %0, %w into %1 bias %c gelu {alpha = 0.5} : memref<4x8xf32>, memref<8x6xf32, strided<[1, 8]>>, memref<4x6xf32> bias memref<6xf32>
  %rows = tp.constant dense<[true, false, true, true]> : tensor<4xi1> at 192 to memref<4xi1>
  // CHECK: tp.gemm %[[A]], %{{.*}} into %{{.*}} rows %{{.*}} : memref<4x8xf32>, memref<8x6xf32, strided<[1, 8]>>, memref<4x6xf32> rows memref<4xi1>
  tp.gemm %0, %w into %1 rows %rows : memref<4x8xf32>, memref<8x6xf32, strided<[1, 8]>>, memref<4x6xf32> rows memref<4xi1>
  %place = tp.constant dense<1> : tensor<i64> at 256 to memref<i64>
  %table = memref.reinterpret_cast %w to offset: [0], sizes: [2, 8, 3], strides: [24, 1, 8] : memref<8x6xf32, strided<[1, 8]>> to memref<2x8x3xf32, strided<[24, 1, 8]>>
  %half = tp.alloc : memref<4x3xf32>
  // CHECK: tp.gemm %[[A]], %{{.*}} into %{{.*}} lookup %{{.*}} : memref<4x8xf32>, memref<2x8x3xf32, strided<[24, 1, 8]>>, memref<4x3xf32> lookup memref<i64>
  tp.gemm %0, %table into %half lookup %place : memref<4x8xf32>, memref<2x8x3xf32, strided<[24, 1, 8]>>, memref<4x3xf32> lookup memref<i64>
  %2 = tp.alloc : memref<16x6xf32>
  // CHECK: tp.communicate %{{.*}} into %{{.*}} : memref<4x6xf32>, memref<16x6xf32> {
  // CHECK:   tp.all_gather
  tp.communicate %1 into %2 : memref<4x6xf32>, memref<16x6xf32> {
  ^bb0(%a: tensor<4x6xf32>):
    %b = tp.all_gather %a dim 0 over <<"tp" = 4>, ["tp"]> : tensor<4x6xf32> -> tensor<16x6xf32>
  }
  return %2 : memref<16x6xf32>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: memref<1x2x4x8xf16>, %k: memref<1x1x6x8xf16>, %o: memref<1x2x4x8xf16>) {
  // CHECK: tp.attention %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} scale 1.250000e-01 lower -3 upper 0 empty_rows "nan" flops 64 bytes 128 {
  tp.attention %q, %k, %k into %o scale 0.125 lower -3 upper 0 empty_rows "nan" flops 64 bytes 128 {
  } : memref<1x2x4x8xf16>, memref<1x1x6x8xf16>, memref<1x1x6x8xf16>, memref<1x2x4x8xf16>
  return
}

// CHECK-LABEL: func.func @attention_to_a_chunk
func.func @attention_to_a_chunk(%q: memref<1x2x4x8xf16>, %k: memref<1x1x6x8xf16>, %spans: memref<1x2x4x2xi64, strided<[0, 0, 2, 1]>>, %s: memref<1x2x4x10xf32>, %o: memref<1x2x4x10xf32>) {
  // CHECK: tp.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} onto %{{.*}} into %{{.*}} partial scale 1.250000e-01 flops 64 bytes 128 {
  tp.attention %q, %k, %k bias %spans onto %s into %o partial scale 0.125 flops 64 bytes 128 {
  } : memref<1x2x4x8xf16>, memref<1x1x6x8xf16>, memref<1x1x6x8xf16>, memref<1x2x4x10xf32> bias memref<1x2x4x2xi64, strided<[0, 0, 2, 1]>> onto memref<1x2x4x10xf32>
  return
}

// CHECK-LABEL: func.func @launched
func.func @launched(%x: memref<6xf32>, %y: memref<6xf32>) {
  // CHECK: tp.launch @tp_kernel_0(%{{.*}}, %{{.*}} : memref<6xf32>, memref<6xf32>) read [true, false] written [false, true] {block = array<i64: 128, 1, 1>, grid = array<i64: 2, 1, 1>}
  tp.launch @tp_kernel_0(%x, %y : memref<6xf32>, memref<6xf32>) read [true, false] written [false, true] {grid = array<i64: 2, 1, 1>, block = array<i64: 128, 1, 1>}
  return
}

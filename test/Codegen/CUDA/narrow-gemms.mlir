// Products of bf16 operands are GEMMs of bf16 that add in f32. A sum that is only
// rounded is written rounded; one that is used in f32 too is not.
// RUN: tp-compile %s --target=cuda --chip=host -o %t.tp
// RUN: tp-run --info %t.tp | FileCheck %s

// CHECK:      gemm         batch  m   n  k
// CHECK-NEXT: bf16         []     4   6  8  NN
// CHECK-NEXT: bf16 to f32  []     4  10  8  NN
// CHECK:      kernels per step and rank
// CHECK-NEXT: grid
// CHECK-NEXT: tp_kernel_0
// CHECK-NEXT: total
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @main(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>, %c: tensor<8x10xbf16>) -> (tensor<4x6xbf16>, tensor<4x10xbf16>, tensor<4x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %e6 = tensor.empty() : tensor<4x6xf32>
  %z6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s6 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xbf16>, tensor<8x6xbf16>) outs(%z6 : tensor<4x6xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %r6 = tensor.empty() : tensor<4x6xbf16>
  %t6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s6 : tensor<4x6xf32>) outs(%r6 : tensor<4x6xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4x6xbf16>
  %e10 = tensor.empty() : tensor<4x10xf32>
  %z10 = linalg.fill ins(%zero : f32) outs(%e10 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %s10 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %c : tensor<4x8xbf16>, tensor<8x10xbf16>) outs(%z10 : tensor<4x10xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x10xf32>
  %r10 = tensor.empty() : tensor<4x10xbf16>
  %t10 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s10 : tensor<4x10xf32>) outs(%r10 : tensor<4x10xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4x10xbf16>
  return %t6, %t10, %s10 : tensor<4x6xbf16>, tensor<4x10xbf16>, tensor<4x10xf32>
}

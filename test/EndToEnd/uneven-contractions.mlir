// Sums whose dimension the ranks do not divide, on 3, 5 and 8 ranks as on 1: 131 rows
// are 44 44 43 on 3, and 11 are 4 4 3, then 3 3 3 2 0, then 2 2 2 2 2 1 0 0. Padding is
// NaN.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w=@%t.w.npy --input=b=@%t.b.npy --input=heads=@%t.heads.npy --input=wo=@%t.wo.npy --input=inner=@%t.inner.npy --input=wi=@%t.wi.npy
// DEFINE: %{compare} = --expected-output=y=@%t.y.npy --expected-output=narrow=@%t.narrow.npy --expected-output=wide=@%t.wide.npy --expected-output=joined=@%t.joined.npy --expected-output=apart=@%t.apart.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=4,131 %t.w.npy=131,3 %t.b.npy=4,3 %t.heads.npy=4,11,4 %t.wo.npy=11,4,3 %t.inner.npy=4,3,11 %t.wi.npy=3,11,3
// RUN: tp-compile %s -o %t.1.tp --verify
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=narrow=@%t.narrow.npy --output=wide=@%t.wide.npy --output=joined=@%t.joined.npy --output=apart=@%t.apart.npy
// RUN: tp-compile %s --plan=%S/Inputs/uneven-contractions.plan.mlir --mesh=tp=3 -o %t.3.tp --verify
// RUN: %{run} %t.3.tp --ranks=3 %{compare}
// RUN: tp-compile %s --plan=%S/Inputs/uneven-contractions.plan.mlir --mesh=tp=5 -o %t.5.tp --verify
// RUN: %{run} %t.5.tp --ranks=5 %{compare}
// RUN: tp-compile %s --plan=%S/Inputs/uneven-contractions.plan.mlir --mesh=tp=8 -o %t.8.tp --verify
// RUN: %{run} %t.8.tp --ranks=8 %{compare}
// RUN: tp-run --info %t.8.tp | FileCheck %s

// All are products by the library, but for the one whose split loop is the inner one of
// two: its valid rows have gaps.
// CHECK:      matrix products
// CHECK-NEXT: gemm         batch  m  n      k
// CHECK-NEXT: f32          []     4  3  12-17  NN {{.*}} 1
// CHECK-NEXT: bf16 to f32  []     4  3  12-17  NN {{.*}} 1
// CHECK-NEXT: f64          []     4  3  12-17
// CHECK-NEXT: f32          []     4  3    0-8
// CHECK-NEXT: total

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#mhd = affine_map<(m, n, h, d) -> (m, h, d)>
#hdn = affine_map<(m, n, h, d) -> (h, d, n)>
#mn4 = affine_map<(m, n, h, d) -> (m, n)>
#ij = affine_map<(i, j) -> (i, j)>

func.func @main(%x: tensor<4x131xf32> {tp.name = "x"}, %w: tensor<131x3xf32> {tp.name = "w"}, %b: tensor<4x3xf32> {tp.name = "b"},
                %heads: tensor<4x11x4xf32> {tp.name = "heads"}, %wo: tensor<11x4x3xf32> {tp.name = "wo"},
                %inner: tensor<4x3x11xf32> {tp.name = "inner"}, %wi: tensor<3x11x3xf32> {tp.name = "wi"})
    -> (tensor<4x3xf32> {tp.name = "y"}, tensor<4x3xf32> {tp.name = "narrow"}, tensor<4x3xf64> {tp.name = "wide"},
        tensor<4x3xf32> {tp.name = "joined"}, tensor<4x3xf32> {tp.name = "apart"}) {
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %e64 = tensor.empty() : tensor<4x3xf64>
  %init64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<4x3xf64>) -> tensor<4x3xf64>

  // Added to what is there already.
  %y = linalg.matmul ins(%x, %w : tensor<4x131xf32>, tensor<131x3xf32>) outs(%b : tensor<4x3xf32>) -> tensor<4x3xf32>

  // bf16 operands.
  %ex = tensor.empty() : tensor<4x131xbf16>
  %xn = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x131xf32>) outs(%ex : tensor<4x131xbf16>) {
  ^bb0(%i: f32, %o: bf16):
    %r = arith.truncf %i : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x131xbf16>
  %ew = tensor.empty() : tensor<131x3xbf16>
  %wn = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<131x3xf32>) outs(%ew : tensor<131x3xbf16>) {
  ^bb0(%i: f32, %o: bf16):
    %r = arith.truncf %i : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<131x3xbf16>
  %narrow = linalg.matmul ins(%xn, %wn : tensor<4x131xbf16>, tensor<131x3xbf16>) outs(%init : tensor<4x3xf32>) -> tensor<4x3xf32>

  // f32 operands in f64.
  %wide = linalg.matmul ins(%x, %w : tensor<4x131xf32>, tensor<131x3xf32>) outs(%init64 : tensor<4x3xf64>) -> tensor<4x3xf64>

  // The split loop is the outer one of two that join.
  %joined = linalg.generic {indexing_maps = [#mhd, #hdn, #mn4], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%heads, %wo : tensor<4x11x4xf32>, tensor<11x4x3xf32>) outs(%init : tensor<4x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>

  // The split loop is the inner one.
  %apart = linalg.generic {indexing_maps = [#mhd, #hdn, #mn4], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%inner, %wi : tensor<4x3x11xf32>, tensor<3x11x3xf32>) outs(%init : tensor<4x3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  return %y, %narrow, %wide, %joined, %apart : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf64>, tensor<4x3xf32>, tensor<4x3xf32>
}

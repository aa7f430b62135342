// Normalization changes no number: grouped-query attention with a rotary
// embedding on looked-up rows, lowered by upstream passes before and after.
//
// DEFINE: %{lower} = mlir-opt --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1},func.func(convert-linalg-to-loops),expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)'
// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void -shared-libs=%llvm_lib/libmlir_c_runner_utils.so,%llvm_lib/libmlir_runner_utils.so
// RUN: %{lower} %s | %{run} > %t.before
// RUN: tp-opt %s --tp-normalize --tp-verify-normal-form -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %{lower} %t.mlir | %{run} > %t.after
// RUN: FileCheck %s --check-prefix=NUMBERS < %t.before
// RUN: diff %t.before %t.after

// The program did change.
// CHECK: tensor<2x2x2x3x2xf32>
// CHECK-NOT: tensor<8x3x3xf32>
// CHECK: scf.for
// 72 shares, none 0 or 1.
// NUMBERS-COUNT-72: {{^0\.[0-9]+$}}

#id1 = affine_map<(a) -> (a)>
#id2 = affine_map<(a, b) -> (a, b)>
#ids = affine_map<(a, b, c) -> (a, b)>
#id3 = affine_map<(a, b, c) -> (a, b, c)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#row4 = affine_map<(a, b, c, d) -> (a, b, c)>
#one4 = affine_map<(a, b, c, d) -> (a, b, c, 0)>
#id5 = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
#kv = affine_map<(a, b, c, d, e) -> (a, b, d, e)>
#qk_q = affine_map<(b, m, n, k) -> (b, m, k)>
#qk_k = affine_map<(b, m, n, k) -> (b, n, k)>
#qk = affine_map<(b, m, n, k) -> (b, m, n)>

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c5 = arith.constant 5 : i64
  %c7 = arith.constant 7 : i64
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0 : i64
  %low = arith.constant 0xFF800000 : f32
  // Weights and token ids from indices.
  %e0 = tensor.empty() : tensor<7x8xf32>
  %table = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e0 : tensor<7x8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.muli %i, %c8 : index
    %l = arith.addi %s, %j : index
    %n = arith.index_cast %l : index to i64
    %f = arith.sitofp %n : i64 to f32
    %v = math.sin %f : f32
    linalg.yield %v : f32
  } -> tensor<7x8xf32>
  %e1 = tensor.empty() : tensor<2x3xi64>
  %tokens = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e1 : tensor<2x3xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.muli %i, %c3 : index
    %l = arith.addi %s, %j : index
    %n = arith.index_cast %l : index to i64
    %q = arith.muli %n, %c5 : i64
    %r = arith.remui %q, %c7 : i64
    linalg.yield %r : i64
  } -> tensor<2x3xi64>
  %e2 = tensor.empty() : tensor<8x8xf32>
  %wq = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e2 : tensor<8x8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.muli %j, %c8 : index
    %l = arith.addi %s, %i : index
    %n = arith.index_cast %l : index to i64
    %f = arith.sitofp %n : i64 to f32
    %v = math.cos %f : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %wk = tensor.extract_slice %wq[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>

  %e3 = tensor.empty() : tensor<2x3x8xf32>
  %x = linalg.generic {indexing_maps = [#ids, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%tokens : tensor<2x3xi64>) outs(%e3 : tensor<2x3x8xf32>) {
  ^bb0(%t: i64, %o: f32):
    %at = arith.index_cast %t : i64 to index
    %j = linalg.index 2 : index
    %v = tensor.extract %table[%at, %j] : tensor<7x8xf32>
    linalg.yield %v : f32
  } -> tensor<2x3x8xf32>
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
  %t0 = linalg.transpose ins(%wq : tensor<8x8xf32>) outs(%e2 : tensor<8x8xf32>) permutation = [1, 0]
  %e4 = tensor.empty() : tensor<6x8xf32>
  %i4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %qm = linalg.matmul ins(%rows, %t0 : tensor<6x8xf32>, tensor<8x8xf32>) outs(%i4 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %qh = tensor.expand_shape %qm [[0, 1], [2, 3]] output_shape [2, 3, 4, 2] : tensor<6x8xf32> into tensor<2x3x4x2xf32>
  %e5 = tensor.empty() : tensor<2x4x3x2xf32>
  %q = linalg.transpose ins(%qh : tensor<2x3x4x2xf32>) outs(%e5 : tensor<2x4x3x2xf32>) permutation = [0, 2, 1, 3]
  %lo = tensor.extract_slice %q[0, 0, 0, 0] [2, 4, 3, 1] [1, 1, 1, 1] : tensor<2x4x3x2xf32> to tensor<2x4x3x1xf32>
  %hi = tensor.extract_slice %q[0, 0, 0, 1] [2, 4, 3, 1] [1, 1, 1, 1] : tensor<2x4x3x2xf32> to tensor<2x4x3x1xf32>
  %e6 = tensor.empty() : tensor<2x4x3x1xf32>
  %neg = linalg.negf ins(%hi : tensor<2x4x3x1xf32>) outs(%e6 : tensor<2x4x3x1xf32>) -> tensor<2x4x3x1xf32>
  %turned = tensor.concat dim(3) %neg, %lo : (tensor<2x4x3x1xf32>, tensor<2x4x3x1xf32>) -> tensor<2x4x3x2xf32>
  %rope = linalg.add ins(%q, %turned : tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>) outs(%e5 : tensor<2x4x3x2xf32>) -> tensor<2x4x3x2xf32>

  %e7 = tensor.empty() : tensor<8x4xf32>
  %t1 = linalg.transpose ins(%wk : tensor<4x8xf32>) outs(%e7 : tensor<8x4xf32>) permutation = [1, 0]
  %e8 = tensor.empty() : tensor<6x4xf32>
  %i8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %km = linalg.matmul ins(%rows, %t1 : tensor<6x8xf32>, tensor<8x4xf32>) outs(%i8 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %kh = tensor.expand_shape %km [[0, 1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<6x4xf32> into tensor<2x3x2x2xf32>
  %e9 = tensor.empty() : tensor<2x2x3x2xf32>
  %k = linalg.transpose ins(%kh : tensor<2x3x2x2xf32>) outs(%e9 : tensor<2x2x3x2xf32>) permutation = [0, 2, 1, 3]
  %e10 = tensor.empty() : tensor<2x2x2x3x2xf32>
  %repeated = linalg.generic {indexing_maps = [#kv, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%k : tensor<2x2x3x2xf32>) outs(%e10 : tensor<2x2x2x3x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x3x2xf32>

  %qs = tensor.collapse_shape %rope [[0, 1], [2], [3]] : tensor<2x4x3x2xf32> into tensor<8x3x2xf32>
  %ks = tensor.collapse_shape %repeated [[0, 1, 2], [3], [4]] : tensor<2x2x2x3x2xf32> into tensor<8x3x2xf32>
  %e11 = tensor.empty() : tensor<8x3x3xf32>
  %i11 = linalg.fill ins(%zero : f32) outs(%e11 : tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %bmm = linalg.batch_matmul indexing_maps = [#qk_q, #qk_k, #qk] ins(%qs, %ks : tensor<8x3x2xf32>, tensor<8x3x2xf32>) outs(%i11 : tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %scores = tensor.expand_shape %bmm [[0, 1], [2], [3]] output_shape [2, 4, 3, 3] : tensor<8x3x3xf32> into tensor<2x4x3x3xf32>

  %e12 = tensor.empty() : tensor<2x4x3xf32>
  %e13 = tensor.empty() : tensor<2x4x3xi64>
  %i12 = linalg.fill ins(%low : f32) outs(%e12 : tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %i13 = linalg.fill ins(%zero64 : i64) outs(%e13 : tensor<2x4x3xi64>) -> tensor<2x4x3xi64>
  %max:2 = linalg.generic {indexing_maps = [#id4, #row4, #row4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%scores : tensor<2x4x3x3xf32>) outs(%i12, %i13 : tensor<2x4x3xf32>, tensor<2x4x3xi64>) {
  ^bb0(%in: f32, %o: f32, %at: i64):
    %i = linalg.index 3 : index
    %n = arith.index_cast %i : index to i64
    %m = arith.maximumf %in, %o : f32
    %g = arith.cmpf ogt, %in, %o : f32
    %a = arith.select %g, %n, %at : i64
    linalg.yield %m, %a : f32, i64
  } -> (tensor<2x4x3xf32>, tensor<2x4x3xi64>)
  %column = tensor.expand_shape %max#0 [[0], [1], [2, 3]] output_shape [2, 4, 3, 1] : tensor<2x4x3xf32> into tensor<2x4x3x1xf32>
  %e14 = tensor.empty() : tensor<2x4x3x3xf32>
  %exp = linalg.generic {indexing_maps = [#id4, #one4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores, %column : tensor<2x4x3x3xf32>, tensor<2x4x3x1xf32>) outs(%e14 : tensor<2x4x3x3xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %d = arith.subf %in, %m : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32
  } -> tensor<2x4x3x3xf32>
  %e15 = tensor.empty() : tensor<2x4x3x1xf32>
  %i15 = linalg.fill ins(%zero : f32) outs(%e15 : tensor<2x4x3x1xf32>) -> tensor<2x4x3x1xf32>
  %sum = linalg.generic {indexing_maps = [#id4, #one4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%exp : tensor<2x4x3x3xf32>) outs(%i15 : tensor<2x4x3x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %v = arith.addf %in, %o : f32
    linalg.yield %v : f32
  } -> tensor<2x4x3x1xf32>
  // The share of the argument within one more than the sum: never 1.
  %unit = arith.constant dense<1.0> : tensor<f32>
  %p = linalg.generic {indexing_maps = [#id4, #one4, affine_map<(a, b, c, d) -> ()>, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%exp, %sum, %unit : tensor<2x4x3x3xf32>, tensor<2x4x3x1xf32>, tensor<f32>) outs(%e14 : tensor<2x4x3x3xf32>) {
  ^bb0(%in: f32, %s: f32, %u: f32, %o: f32):
    %t = arith.addf %s, %u : f32
    %v = arith.divf %in, %t : f32
    linalg.yield %v : f32
  } -> tensor<2x4x3x3xf32>
  %flat = tensor.collapse_shape %p [[0, 1, 2, 3]] : tensor<2x4x3x3xf32> into tensor<72xf32>
  %c72 = arith.constant 72 : index
  scf.for %i = %c0 to %c72 step %c1 {
    %v = tensor.extract %flat[%i] : tensor<72xf32>
    vector.print %v : f32
  }
  return
}

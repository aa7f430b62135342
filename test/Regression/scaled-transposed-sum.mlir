// RUN: tp-compile %s -o %t.tp && tp-run %t.tp "--input=x=2x2xf32=[1 2 3 4]" "--input=w=2x3xf32=[1 0 2 0 1 0]" "--input=v=2x2xf32=[1 0 0 10]" | FileCheck %s

// The second product reads the first one's sum, scaled, through a transposition. The
// sum was written transposed for the op that scales it, which is nobody.
// CHECK: y: f32[3, 2], {{.*}}: [2, 60, 4, 80, 4, 120]
func.func @main(%x: tensor<2x2xf32> {tp.name = "x"}, %w: tensor<2x3xf32> {tp.name = "w"}, %v: tensor<2x2xf32> {tp.name = "v"}) -> (tensor<3x2xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %0 = tensor.empty() : tensor<2x3xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %sum = linalg.matmul ins(%x, %w : tensor<2x2xf32>, tensor<2x3xf32>) outs(%1 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = tensor.empty() : tensor<3x2xf32>
  %t = linalg.transpose ins(%sum : tensor<2x3xf32>) outs(%2 : tensor<3x2xf32>) permutation = [1, 0]
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<3x2xf32>) outs(%2 : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.mulf %in, %two : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %y = linalg.matmul ins(%s, %v : tensor<3x2xf32>, tensor<2x2xf32>) outs(%3 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

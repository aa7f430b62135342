// RUN: tp-compile %s -o %t.tp && tp-run %t.tp "--input=x=3x2xf32=[1 2 3 4 5 6]" "--input=w=2x2xf32=[1 0 0 10]" "--input=chosen=2xi1=[false true]" | FileCheck %s

// The condition is of the first rows of a product, all that is read of it. It was
// asked for the row behind them too.
// CHECK: y: f32[2, 2], {{.*}}: [0, 0, 3, 40]
func.func @main(%x: tensor<3x2xf32> {tp.name = "x"}, %w: tensor<2x2xf32> {tp.name = "w"}, %chosen: tensor<2xi1> {tp.name = "chosen"}) -> (tensor<2x2xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<3x2xf32>, tensor<2x2xf32>) outs(%1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = tensor.extract_slice %2[0, 0] [2, 2] [1, 1] : tensor<3x2xf32> to tensor<2x2xf32>
  %4 = tensor.empty() : tensor<2x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%chosen, %3 : tensor<2xi1>, tensor<2x2xf32>) outs(%4 : tensor<2x2xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

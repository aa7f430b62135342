#id = affine_map<(m, n) -> (m, n)>
func.func @main(%a: tensor<8x8xf32> {tp.name = "a"}, %b: tensor<8x8xf32> {tp.name = "b"}) -> (tensor<8x8xf32> {tp.name = "r0"}) {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %q0 = arith.mulf %x, %x : f32
    %q1 = arith.mulf %q0, %q0 : f32
    %q2 = arith.mulf %q1, %q1 : f32
    %q3 = arith.mulf %q2, %q2 : f32
    %q4 = arith.mulf %q3, %q3 : f32
    %q5 = arith.mulf %q4, %q4 : f32
    %q6 = arith.mulf %q5, %q5 : f32
    %q7 = arith.mulf %q6, %q6 : f32
    %q8 = arith.mulf %q7, %q7 : f32
    %q9 = arith.mulf %q8, %q8 : f32
    %q10 = arith.mulf %q9, %q9 : f32
    %q11 = arith.mulf %q10, %q10 : f32
    %q12 = arith.mulf %q11, %q11 : f32
    %q13 = arith.mulf %q12, %q12 : f32
    %q14 = arith.mulf %q13, %q13 : f32
    %q15 = arith.mulf %q14, %q14 : f32
    %q16 = arith.mulf %q15, %q15 : f32
    %q17 = arith.mulf %q16, %q16 : f32
    %q18 = arith.mulf %q17, %q17 : f32
    %q19 = arith.mulf %q18, %q18 : f32
    %q20 = arith.mulf %q19, %q19 : f32
    %q21 = arith.mulf %q20, %q20 : f32
    %q22 = arith.mulf %q21, %q21 : f32
    %q23 = arith.mulf %q22, %q22 : f32
    linalg.yield %q23 : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
func.func @main(%a: tensor<6x8xf32> {tp.name = "a"}, %b: tensor<8x8xf32> {tp.name = "b"}, %c: tensor<8x8xf32> {tp.name = "c"}) -> (tensor<6x8xf32> {tp.name = "r0"}) {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %P = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x8xf32>) outs(%z : tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%P : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%x0: f32, %o: f32):
    %n = arith.truncf %x0 : f32 to f8E4M3FN
    %w = arith.extf %n : f8E4M3FN to f32
    %k1 = arith.constant 0.044715 : f32
    %k2 = arith.constant 0.797884583 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %q1 = arith.mulf %w, %w : f32
    %q2 = arith.mulf %q1, %w : f32
    %q3 = arith.mulf %q2, %k1 : f32
    %q4 = arith.addf %w, %q3 : f32
    %q5 = arith.mulf %q4, %k2 : f32
    %q6 = math.tanh %q5 : f32
    %q7 = arith.addf %q6, %one : f32
    %q8 = arith.mulf %w, %half : f32
    %r = arith.mulf %q7, %q8 : f32
    linalg.yield %r : f32
  } -> tensor<6x8xf32>
  return %s : tensor<6x8xf32>
}

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
func.func @main(%a: tensor<6x8xf32> {tp.name = "a"}, %b: tensor<8x8xf32> {tp.name = "b"}, %c: tensor<8x8xf32> {tp.name = "c"}) -> (tensor<6x8xf32> {tp.name = "r0"}) {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %R = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x8xf32>) outs(%z : tensor<6x8xf32>) -> tensor<6x8xf32>
  %rr = tensor.extract_slice %R[3, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<8xf32>
  %P = linalg.matmul ins(%a, %c : tensor<6x8xf32>, tensor<8x8xf32>) outs(%z : tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%P, %R : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %o: f32):
    %ss = arith.addf %x0, %x1 : f32
    linalg.yield %ss : f32
  } -> tensor<6x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %rr : tensor<6x8xf32>, tensor<8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%x0: f32, %x1: f32, %o: f32):
    %ss = arith.addf %x0, %x1 : f32
    linalg.yield %ss : f32
  } -> tensor<6x8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%x0: f32, %o: f32):
    %ss = math.exp %x0 : f32
    linalg.yield %ss : f32
  } -> tensor<6x8xf32>
  return %u : tensor<6x8xf32>
}

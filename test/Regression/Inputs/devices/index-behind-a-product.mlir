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
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %s = arith.mulf %x0, %f : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  return %s : tensor<6x8xf32>
}

// Two entries whose products read the same weights, and one that reads neither.
#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @long(%x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
    %gate: tensor<10x8xf32> {tp.name = "gate.weight", tp.kind = "parameter"},
    %up: tensor<10x8xf32> {tp.name = "up.weight", tp.kind = "parameter"})
    -> (tensor<4x10xf32> {tp.name = "y", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x10xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
  %g = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %gate : tensor<4x8xf32>, tensor<10x8xf32>) outs(%i : tensor<4x10xf32>) -> tensor<4x10xf32>
  %u = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %up : tensor<4x8xf32>, tensor<10x8xf32>) outs(%i : tensor<4x10xf32>) -> tensor<4x10xf32>
  %y = linalg.sub ins(%g, %u : tensor<4x10xf32>, tensor<4x10xf32>) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
  return %y : tensor<4x10xf32>
}
func.func @short(%up: tensor<10x8xf32> {tp.name = "up.weight", tp.kind = "parameter"},
    %gate: tensor<10x8xf32> {tp.name = "gate.weight", tp.kind = "parameter"},
    %x: tensor<2x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<2x10xf32> {tp.name = "y", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x10xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x10xf32>) -> tensor<2x10xf32>
  %g = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %gate : tensor<2x8xf32>, tensor<10x8xf32>) outs(%i : tensor<2x10xf32>) -> tensor<2x10xf32>
  %u = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %up : tensor<2x8xf32>, tensor<10x8xf32>) outs(%i : tensor<2x10xf32>) -> tensor<2x10xf32>
  %y = linalg.sub ins(%u, %g : tensor<2x10xf32>, tensor<2x10xf32>) outs(%e : tensor<2x10xf32>) -> tensor<2x10xf32>
  return %y : tensor<2x10xf32>
}
func.func @other(%up: tensor<10x8xf32> {tp.name = "up.weight", tp.kind = "parameter"},
    %gate: tensor<10x8xf32> {tp.name = "gate.weight", tp.kind = "parameter"},
    %x: tensor<3xf32> {tp.name = "x", tp.kind = "user_input"}) -> (tensor<3xf32> {tp.name = "y"}) {
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.add ins(%x, %x : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

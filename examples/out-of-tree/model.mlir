// Two linear layers: y = (x up^T) down^T.
func.func @main(%up: tensor<16x8xf32> {tp.name = "up.weight", tp.kind = "parameter"},
                %down: tensor<8x16xf32> {tp.name = "down.weight", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x16xf32>
  %t0 = linalg.transpose ins(%up : tensor<16x8xf32>) outs(%e0 : tensor<8x16xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<4x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %h = linalg.matmul ins(%x, %t0 : tensor<4x8xf32>, tensor<8x16xf32>) outs(%i1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %t2 = linalg.transpose ins(%down : tensor<8x16xf32>) outs(%e2 : tensor<16x8xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<4x8xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %t2 : tensor<4x16xf32>, tensor<16x8xf32>) outs(%i3 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Six feed-forward blocks with a residual, over weights stacked along the layers.
func.func @main(%up: tensor<6x8x16xf32> {tp.name = "layers.up.weight", tp.kind = "parameter"},
                %down: tensor<6x16x8xf32> {tp.name = "layers.down.weight", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<4x16xf32>
  %narrow = tensor.empty() : tensor<4x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %x) -> (tensor<4x8xf32>) {
    %u = tensor.extract_slice %up[%i, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<6x8x16xf32> to tensor<8x16xf32>
    %d = tensor.extract_slice %down[%i, 0, 0] [1, 16, 8] [1, 1, 1] : tensor<6x16x8xf32> to tensor<16x8xf32>
    %inner = linalg.matmul ins(%h, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%zeros : tensor<4x16xf32>) -> tensor<4x16xf32>
    %act = math.tanh %inner : tensor<4x16xf32>
    %none = linalg.fill ins(%zero : f32) outs(%narrow : tensor<4x8xf32>) -> tensor<4x8xf32>
    %outer = linalg.matmul ins(%act, %d : tensor<4x16xf32>, tensor<16x8xf32>) outs(%none : tensor<4x8xf32>) -> tensor<4x8xf32>
    %next = arith.addf %h, %outer : tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

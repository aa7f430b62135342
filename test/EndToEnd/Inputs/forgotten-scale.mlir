// Six layers that add to each row its sum by a scale, a vector of each layer.
func.func @main(%up: tensor<6x8x16xf32> {tp.name = "layers.up.weight", tp.kind = "parameter"},
                %scales: tensor<6x16xf32> {tp.name = "layers.norm.scale", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<4x16xf32>
  %narrow = tensor.empty() : tensor<4x8xf32>
  %rows = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %x) -> (tensor<4x8xf32>) {
    %u = tensor.extract_slice %up[%i, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<6x8x16xf32> to tensor<8x16xf32>
    %scale = tensor.extract_slice %scales[%i, 0] [1, 16] [1, 1] : tensor<6x16xf32> to tensor<16xf32>
    %inner = linalg.matmul ins(%h, %u : tensor<4x8xf32>, tensor<8x16xf32>) outs(%zeros : tensor<4x16xf32>) -> tensor<4x16xf32>
    %none = linalg.fill ins(%zero : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
    %sums = linalg.matvec ins(%inner, %scale : tensor<4x16xf32>, tensor<16xf32>) outs(%none : tensor<4xf32>) -> tensor<4xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%h, %sums : tensor<4x8xf32>, tensor<4xf32>) outs(%narrow : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

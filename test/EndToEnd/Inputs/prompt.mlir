// Four rows times a weight; the state has the sum of all rows there were.
func.func @prompt(%w: tensor<8x12xf32> {tp.name = "w", tp.kind = "parameter"},
                  %state: tensor<12xf32> {tp.name = "state", tp.kind = "buffer"},
                  %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x12xf32> {tp.name = "y"},
        tensor<12xf32> {tp.name = "next", tp.updates = "state"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x12xf32>) -> tensor<4x12xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x12xf32>)
                     outs(%init : tensor<4x12xf32>) -> tensor<4x12xf32>
  %next = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>],
                          iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<4x12xf32>) outs(%state : tensor<12xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %more = arith.addf %sum, %a : f32
    linalg.yield %more : f32
  } -> tensor<12xf32>
  return %y, %next : tensor<4x12xf32>, tensor<12xf32>
}

// Two entries, one with an input that its steps update; results of bf16.
#id = affine_map<(d0) -> (d0)>
func.func @sum(%total: tensor<4xf32> {tp.name = "total", tp.kind = "user_input"},
               %x: tensor<4xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4xbf16> {tp.name = "y", tp.kind = "user_output"},
        tensor<4xf32> {tp.name = "next", tp.kind = "user_output", tp.updates = "total"}) {
  %empty = tensor.empty() : tensor<4xf32>
  %next = linalg.add ins(%total, %x : tensor<4xf32>, tensor<4xf32>)
                     outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %narrow = tensor.empty() : tensor<4xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%next : tensor<4xf32>) outs(%narrow : tensor<4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %rounded = arith.truncf %in : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<4xbf16>
  return %y, %next : tensor<4xbf16>, tensor<4xf32>
}
func.func @twice(%x: tensor<4xbf16> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4xbf16> {tp.name = "y", tp.kind = "user_output"}) {
  %empty = tensor.empty() : tensor<4xbf16>
  %y = linalg.add ins(%x, %x : tensor<4xbf16>, tensor<4xbf16>)
                  outs(%empty : tensor<4xbf16>) -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}

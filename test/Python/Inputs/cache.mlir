// An input that a step changes in place, as a cache that the caller gives once.
func.func @main(%cache: tensor<4x6xf32> {tp.name = "cache", tp.kind = "user_input"},
                %x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x6xf32> {tp.name = "y", tp.kind = "user_output"},
        tensor<4x6xf32> {tp.name = "cache", tp.kind = "new_user_input"}) {
  %empty = tensor.empty() : tensor<4x6xf32>
  %sum = linalg.add ins(%x, %cache : tensor<4x6xf32>, tensor<4x6xf32>)
                    outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  %twice = linalg.add ins(%sum, %sum : tensor<4x6xf32>, tensor<4x6xf32>)
                      outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %twice, %sum : tensor<4x6xf32>, tensor<4x6xf32>
}

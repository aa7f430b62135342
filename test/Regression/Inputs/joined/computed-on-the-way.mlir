// The same, with an op between the slice and what it is joined into.
func.func @main(%s: tensor<7x4xf32> {tp.name = "s"}, %x: tensor<7x4xf32> {tp.name = "x"}) -> (tensor<7x4xf32> {tp.name = "a"}, tensor<7x4xf32> {tp.name = "b"}) {
  %sum = arith.addf %x, %s : tensor<7x4xf32>
  %part = tensor.extract_slice %sum[0, 0] [6, 3] [1, 1] : tensor<7x4xf32> to tensor<6x3xf32>
  %twice = arith.addf %part, %part : tensor<6x3xf32>
  %own = tensor.insert_slice %twice into %s[0, 0] [6, 3] [1, 1] : tensor<6x3xf32> into tensor<7x4xf32>
  %below = tensor.insert_slice %part into %s[1, 0] [6, 3] [1, 1] : tensor<6x3xf32> into tensor<7x4xf32>
  return %own, %below : tensor<7x4xf32>, tensor<7x4xf32>
}

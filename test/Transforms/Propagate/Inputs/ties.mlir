#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x4xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}, %y: tensor<4x4xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %e = tensor.empty() : tensor<4x4xf32>
    %a = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = linalg.log ins(%y : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %c = linalg.add ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %d = linalg.mul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %f = linalg.sub ins(%c, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    return %f, %d : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// The ops of the table of rules in docs/adding-a-rule.md, in its order.
#d0 = affine_map<(d0) -> (d0)>
func.func @examples(%a: tensor<4x16xf32>, %b: tensor<4x24xf32>, %c: tensor<4x6xf32>, %v: tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[0, 0] high[0, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x16xf32> to tensor<4x20xf32>
  %1 = tensor.extract_slice %a[0, 0] [4, 8] [1, 2] : tensor<4x16xf32> to tensor<4x8xf32>
  %2 = tensor.expand_shape %c [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %3 = tensor.concat dim(1) %a, %b : (tensor<4x16xf32>, tensor<4x24xf32>) -> tensor<4x40xf32>
  %4 = linalg.reduce ins(%c : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1] (%in: f32, %out: f32) {
    %s = math.atan2 %out, %in : f32
    linalg.yield %s : f32
  }
  %5:2 = linalg.generic {indexing_maps = [#d0, #d0, #d0], iterator_types = ["parallel"]} ins(%v : tensor<4xf32>) outs(%v, %v : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    linalg.yield %x, %x : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return
}

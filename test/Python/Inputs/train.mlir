// A training step by hand: y = x w, w becomes w - x^T g, and a counter counts. The cache
// is a buffer that a step replaces.
func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"},
                %w: tensor<6x10xf32> {tp.name = "up.weight", tp.kind = "parameter",
                                     tp.aliases = ["head.weight"]},
                %count: tensor<i64> {tp.name = "step", tp.kind = "opt_step"},
                %cache: tensor<4x10xf32> {tp.name = "cache", tp.kind = "buffer"})
    -> (tensor<4x10xf32> {tp.name = "y", tp.kind = "user_output"},
        tensor<6x10xf32> {tp.name = "up.weight", tp.kind = "new_parameter"},
        tensor<i64> {tp.name = "step", tp.kind = "new_step"},
        tensor<4x10xf32> {tp.name = "cache", tp.kind = "new_buffer"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %y0 = tensor.empty() : tensor<4x10xf32>
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x10xf32>)
                     outs(%y1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %sum0 = tensor.empty() : tensor<4x10xf32>
  %sum = linalg.add ins(%y, %cache : tensor<4x10xf32>, tensor<4x10xf32>)
                    outs(%sum0 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %new = linalg.generic {indexing_maps = [affine_map<(n, i, b) -> (b, n)>,
                                          affine_map<(n, i, b) -> (b, i)>,
                                          affine_map<(n, i, b) -> (n, i)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<4x6xf32>, tensor<4x10xf32>) outs(%w : tensor<6x10xf32>) {
  ^bb0(%a: f32, %g: f32, %old: f32):
    %product = arith.mulf %a, %g : f32
    %less = arith.subf %old, %product : f32
    linalg.yield %less : f32
  } -> tensor<6x10xf32>
  %n0 = tensor.empty() : tensor<i64>
  %n = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
                       iterator_types = []} ins(%count : tensor<i64>) outs(%n0 : tensor<i64>) {
  ^bb0(%a: i64, %out: i64):
    %next = arith.addi %a, %one : i64
    linalg.yield %next : i64
  } -> tensor<i64>
  return %sum, %new, %n, %sum : tensor<4x10xf32>, tensor<6x10xf32>, tensor<i64>, tensor<4x10xf32>
}

// One row times the weight, added to the state, of which half goes on.
func.func @step(%x: tensor<1x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %state: tensor<12xf32> {tp.name = "state", tp.kind = "buffer"},
                %w: tensor<8x12xf32> {tp.name = "w", tp.kind = "parameter"})
    -> (tensor<12xf32> {tp.name = "next", tp.updates = "state"},
        tensor<1x12xf32> {tp.name = "y"}) attributes {tp.calls = 100 : i64} {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %empty = tensor.empty() : tensor<1x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x12xf32>) -> tensor<1x12xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1x8xf32>, tensor<8x12xf32>)
                     outs(%init : tensor<1x12xf32>) -> tensor<1x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %state : tensor<1x12xf32>, tensor<12xf32>) outs(%empty : tensor<1x12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<1x12xf32>
  %v = tensor.empty() : tensor<12xf32>
  %next = linalg.generic {indexing_maps = [affine_map<(j) -> (0, j)>, affine_map<(j) -> (j)>,
                                           affine_map<(j) -> (j)>],
                          iterator_types = ["parallel"]}
      ins(%p, %state : tensor<1x12xf32>, tensor<12xf32>) outs(%v : tensor<12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.mulf %b, %half : f32
    %d = arith.addf %a, %c : f32
    linalg.yield %d : f32
  } -> tensor<12xf32>
  return %next, %y : tensor<12xf32>, tensor<1x12xf32>
}

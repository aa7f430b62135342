// A sum that starts from a state, whose memory it takes, and that all threads of the row read.
func.func @main(%x: tensor<40x70xf32> {tp.name = "x", tp.kind = "user_input"}, %n: tensor<40xf32> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<40x70xf32> {tp.name = "y"}, tensor<40xf32> {tp.name = "next", tp.updates = "n"}) {
  %next = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<40x70xf32>) outs(%n : tensor<40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  %f = tensor.empty() : tensor<40x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %next : tensor<40x70xf32>, tensor<40xf32>) outs(%f : tensor<40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<40x70xf32>
  return %y, %next : tensor<40x70xf32>, tensor<40xf32>
}

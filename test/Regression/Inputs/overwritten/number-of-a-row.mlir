// A number of each row that all threads of a group read, one of which writes it in place.
func.func @main(%x: tensor<40x70xf32> {tp.name = "x", tp.kind = "user_input"}, %n: tensor<40xf32> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<40x70xf32> {tp.name = "y"}, tensor<40xf32> {tp.name = "next", tp.updates = "n"}) {
  %one = arith.constant dense<1.0> : tensor<40xf32>
  %next = arith.addf %n, %one : tensor<40xf32>
  %e = tensor.empty() : tensor<40x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %next : tensor<40x70xf32>, tensor<40xf32>) outs(%e : tensor<40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<40x70xf32>
  return %y, %next : tensor<40x70xf32>, tensor<40xf32>
}

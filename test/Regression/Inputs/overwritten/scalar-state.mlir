// A number that all threads of a group read, one of which writes it in place.
func.func @main(%x: tensor<40x70xf32> {tp.name = "x", tp.kind = "user_input"}, %n: tensor<f32> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<40xf32> {tp.name = "y"}, tensor<f32> {tp.name = "next", tp.updates = "n"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<f32>
  %next = arith.addf %n, %one : tensor<f32>
  %e = tensor.empty() : tensor<40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %next : tensor<40x70xf32>, tensor<f32>) outs(%f : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  return %y, %next : tensor<40xf32>, tensor<f32>
}

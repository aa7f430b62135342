// Indices that are advanced in place, and checked where threads without a row of their own read
// them too.
func.func @main(%x: tensor<41x70xf32> {tp.name = "x", tp.kind = "user_input"}, %n: tensor<41xi64> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<41x70xf32> {tp.name = "y"}, tensor<41xi64> {tp.name = "next", tp.updates = "n"}) {
  %e = tensor.empty() : tensor<41xi64>
  %next = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%n : tensor<41xi64>) outs(%e : tensor<41xi64>) {
  ^bb0(%a: i64, %o: i64):
    %far = arith.constant 1000 : i64
    %none = arith.constant 0 : i64
    %isOld = arith.cmpi slt, %a, %far : i64
    cf.assert %isOld, "expected an index that was not advanced"
    %b = arith.maxsi %a, %none : i64
    %c = arith.addi %b, %far : i64
    linalg.yield %c : i64
  } -> tensor<41xi64>
  %f = tensor.empty() : tensor<41x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %next : tensor<41x70xf32>, tensor<41xi64>) outs(%f : tensor<41x70xf32>) {
  ^bb0(%a: f32, %b: i64, %o: f32):
    %c = arith.sitofp %b : i64 to f32
    %p = arith.mulf %a, %c : f32
    linalg.yield %p : f32
  } -> tensor<41x70xf32>
  return %y, %next : tensor<41x70xf32>, tensor<41xi64>
}

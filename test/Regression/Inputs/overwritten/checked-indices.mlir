// Indices that are advanced in place, and checked where threads without an element of their own
// read them too.
func.func @main(%n: tensor<40xi64> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<40xi64> {tp.name = "next", tp.updates = "n"}) {
  %e = tensor.empty() : tensor<40xi64>
  %next = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%n : tensor<40xi64>) outs(%e : tensor<40xi64>) {
  ^bb0(%a: i64, %o: i64):
    %far = arith.constant 1000 : i64
    %none = arith.constant 0 : i64
    %isOld = arith.cmpi slt, %a, %far : i64
    cf.assert %isOld, "expected an index that was not advanced"
    %b = arith.maxsi %a, %none : i64
    %c = arith.addi %b, %far : i64
    linalg.yield %c : i64
  } -> tensor<40xi64>
  return %next : tensor<40xi64>
}

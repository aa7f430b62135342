// RUN: tp-opt %s --tp-print-sharding-rules -verify-diagnostics -o /dev/null

// A float without infinity that overflows is NaN. A part that is not the maximum
// may do so where the maximum does not, and NaN would be the maximum then.
#id = affine_map<(i) -> (i)>
func.func @bias(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) {
  // expected-remark-re@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [0, 1]; avg [0]; avg [1]; avg [0, 1]{{$}}}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) outs(%y : tensor<4xf8E4M3FN>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN, %o: f8E4M3FN):
    %r = arith.addf %a, %b : f8E4M3FN
    linalg.yield %r : f8E4M3FN
  } -> tensor<4xf8E4M3FN>
  return
}

// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 -o /dev/null 2>&1 | FileCheck %s

// Negation makes a minimum of a maximum, in every iteration: after two of them it
// is a maximum again. The accumulator was let be one kind and the result the other.
// CHECK: 5 strategies hold
// CHECK-NOT: error

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @alternating(%x: tensor<6x4xf32>, %s: tensor<6xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x4xf32>) outs(%s : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %o : f32
    %r = arith.addf %n, %a : f32
    linalg.yield %r : f32
  } -> tensor<6xf32>
  return
}

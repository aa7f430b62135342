// RUN: %python %S/../EndToEnd/Inputs/against_upstream.py %s %t | FileCheck %s
// RUN: tp-compile %s --plan=auto --mesh=tp=2 --verify 2>&1 | sed '/no argument has/d' | count 1

// An index that divides rounding up was computed as a remainder, and --verify
// said that it is not linear.
// CHECK: 12 elements equal in 5 programs
func.func @main(%a: tensor<12xi32> {tp.name = "a", tp.kind = "user_input"}, %b: tensor<7xi32> {tp.name = "b", tp.kind = "user_input"}) -> (tensor<12xi32>) {
  %empty = tensor.empty() : tensor<12xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0 ceildiv 2)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a, %b : tensor<12xi32>, tensor<7xi32>) outs(%empty : tensor<12xi32>) {
  ^bb0(%x: i32, %half: i32, %out: i32):
    %product = arith.muli %x, %half : i32
    linalg.yield %product : i32
  } -> tensor<12xi32>
  return %y : tensor<12xi32>
}

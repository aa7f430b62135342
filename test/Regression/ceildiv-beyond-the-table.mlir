// RUN: %python %S/../EndToEnd/Inputs/against_upstream.py %s %t | FileCheck %s
// RUN: tp-compile %s --plan=auto --mesh=tp=4 --verify 2>&1 | sed '/no argument has/d' | count 1

// Indices that divide rounding up were computed as remainders, which lie
// outside of the table.
// CHECK: 1 elements equal in 7 programs
func.func @main(%a: tensor<6x4x7xi32> {tp.name = "a", tp.kind = "user_input"}, %b: tensor<2x5x1xi32> {tp.name = "b", tp.kind = "user_input"}, %c: tensor<7x3xi32> {tp.name = "c", tp.kind = "user_input"}) -> (tensor<i32>) {
  %init = arith.constant dense<7> : tensor<i32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1 ceildiv 3, d0 ceildiv 2, 0)>, affine_map<(d0, d1, d2) -> (d2, 2)>, affine_map<(d0, d1, d2) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]} ins(%a, %b, %c : tensor<6x4x7xi32>, tensor<2x5x1xi32>, tensor<7x3xi32>) outs(%init : tensor<i32>) {
  ^bb0(%x: i32, %z: i32, %w: i32, %out: i32):
    %product = arith.muli %x, %z : i32
    %difference = arith.subi %product, %w : i32
    %sum = arith.addi %out, %difference : i32
    linalg.yield %sum : i32
  } -> tensor<i32>
  return %y : tensor<i32>
}

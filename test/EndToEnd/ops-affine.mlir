// Every kind of affine expression in indexing maps and in ops of affine, on
// negative numbers too, on 1, 2 and 3 ranks, against upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 372 elements equal in 7 programs
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<12x6xi32> {tp.name = "a", tp.kind = "user_input"}, %b: tensor<7x9xi32> {tp.name = "b", tp.kind = "user_input"}, %c: tensor<6xi32> {tp.name = "c", tp.kind = "user_input"}, %t: tensor<18xi32> {tp.name = "t", tp.kind = "user_input"}) -> (tensor<12x6xi32>, tensor<12x6xi32>, tensor<12xi32>, tensor<12x6xi64>, tensor<12x6xi32>, tensor<12x6xi32>) {
  %empty = tensor.empty() : tensor<12x6xi32>
  // Several loops in one index, loops that are used twice, constants.
  %maps = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ((d0 + d1) ceildiv 3, d0 floordiv 2 + d1 mod 4)>, affine_map<(d0, d1) -> ((d0 * 5 + d1) mod 6)>, affine_map<(d0, d1) -> (5, 8 - d1)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c, %b : tensor<12x6xi32>, tensor<7x9xi32>, tensor<6xi32>, tensor<7x9xi32>) outs(%empty : tensor<12x6xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32, %w: i32, %out: i32):
    %p = arith.muli %x, %y : i32
    %q = arith.addi %p, %z : i32
    %r = arith.subi %q, %w : i32
    linalg.yield %r : i32
  } -> tensor<12x6xi32>
  // Numbers below zero are divided: down, up, and to a remainder that is not.
  %negative = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ((d1 - d0) mod 7, (d1 - d0) floordiv 3 + 4)>, affine_map<(d0, d1) -> ((d1 - d0) ceildiv 4 + 2)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%maps, %b, %c : tensor<12x6xi32>, tensor<7x9xi32>, tensor<6xi32>) outs(%empty : tensor<12x6xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32, %out: i32):
    %p = arith.muli %z, %y : i32
    %q = arith.addi %p, %x : i32
    linalg.yield %q : i32
  } -> tensor<12x6xi32>
  // A reduction whose loops are divided.
  %zero = arith.constant dense<0> : tensor<12xi32>
  %sums = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1 ceildiv 2 + d0 mod 3)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%a, %c : tensor<12x6xi32>, tensor<6xi32>) outs(%zero : tensor<12xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %p = arith.muli %x, %y : i32
    %q = arith.addi %out, %p : i32
    linalg.yield %q : i32
  } -> tensor<12xi32>
  // Ops of affine on the indices of loops.
  %numbers = tensor.empty() : tensor<12x6xi64>
  %applied = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%numbers : tensor<12x6xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %gap = affine.apply affine_map<(d0)[s0] -> (s0 - d0 * 2)>(%i)[%j]
    %down = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%gap)
    %up = affine.apply affine_map<(d0) -> (d0 ceildiv 4)>(%gap)
    %rest = affine.apply affine_map<(d0) -> (d0 mod 4)>(%gap)
    %low = affine.min affine_map<(d0, d1, d2) -> (d0 + 1, d1 * 3, d2 + 7)>(%down, %up, %rest)
    %high = affine.max affine_map<(d0, d1)[s0] -> (d0 - d1, s0 ceildiv 2, 1)>(%i, %gap)[%j]
    %all = affine.apply affine_map<(d0, d1, d2, d3, d4) -> ((((d0 * 100 + d1) * 100 + d2) * 100 + d3) * 100 + d4)>(%down, %up, %rest, %low, %high)
    %number = arith.index_cast %all : index to i64
    linalg.yield %number : i64
  } -> tensor<12x6xi64>
  // A table at places that affine expressions give.
  %found = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<12x6xi32>) outs(%empty : tensor<12x6xi32>) {
  ^bb0(%x: i32, %out: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %at = affine.apply affine_map<(d0, d1) -> ((d1 - d0 * 3) mod 18)>(%i, %j)
    %y = tensor.extract %t[%at] : tensor<18xi32>
    %p = arith.muli %x, %y : i32
    linalg.yield %p : i32
  } -> tensor<12x6xi32>
  // Maps that are put together: a read by division of what is a read by
  // division, and of a reshape.
  %wide = tensor.expand_shape %t [[0, 1]] output_shape [3, 6] : tensor<18xi32> into tensor<3x6xi32>
  %inner = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 mod 3, d1 ceildiv 2)>, #id], iterator_types = ["parallel", "parallel"]} ins(%wide : tensor<3x6xi32>) outs(%empty : tensor<12x6xi32>) {
  ^bb0(%x: i32, %out: i32):
    linalg.yield %x : i32
  } -> tensor<12x6xi32>
  %viewed = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (11 - d0, (d0 + d1) mod 6)>, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%inner, %a : tensor<12x6xi32>, tensor<12x6xi32>) outs(%empty : tensor<12x6xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %s = arith.addi %x, %y : i32
    linalg.yield %s : i32
  } -> tensor<12x6xi32>
  return %maps, %negative, %sums, %applied, %found, %viewed : tensor<12x6xi32>, tensor<12x6xi32>, tensor<12xi32>, tensor<12x6xi64>, tensor<12x6xi32>, tensor<12x6xi32>
}

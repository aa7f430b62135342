// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file | FileCheck %s

// What iterations write into slice by slice, as the gradients of a stack of
// layers, may be partial sums, which one reduction behind the loop adds up.

#mesh = #tp.mesh<"dp" = 2>
tp.plan @p on #mesh["dp"] {
  tp.argument "x" shard<0>
}
// CHECK-LABEL: func.func @main.part0
// CHECK-SAME: tp.kind = "carried", tp.name = "main: value 0", tp.pin = {dp = "carried"}
func.func @main(%w: tensor<8x6xf32> {tp.name = "w", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %s: tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> tensor<5x8x6xf32> {
  return %s : tensor<5x8x6xf32>
}
func.func @main.part0(%w: tensor<8x6xf32> {tp.name = "w", tp.kind = "parameter"},
                      %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                      %s: tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> (tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried", tp.updates = "main: value 0"})
    attributes {tp.part_of = "main", tp.times = 5 : i64} {
  %i = arith.constant 2 : index
  %next = tensor.insert_slice %w into %s[%i, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<8x6xf32> into tensor<5x8x6xf32>
  return %next : tensor<5x8x6xf32>
}

// -----

// Where weights are stored as shards, a rank never holds the gradients of all
// layers whole.

#mesh = #tp.mesh<"dp" = 2>
tp.plan @p on #mesh["dp"] {
  tp.fully_shard ""
  tp.argument "x" shard<0>
}
// CHECK-LABEL: func.func @main.part0
// CHECK-SAME: tp.kind = "carried", tp.name = "main: value 0", tp.pin = {dp = "any"}
func.func @main(%w: tensor<8x6xf32> {tp.name = "w", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %s: tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> tensor<5x8x6xf32> {
  return %s : tensor<5x8x6xf32>
}
func.func @main.part0(%w: tensor<8x6xf32> {tp.name = "w", tp.kind = "parameter"},
                      %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                      %s: tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> (tensor<5x8x6xf32> {tp.name = "main: value 0", tp.kind = "carried", tp.updates = "main: value 0"})
    attributes {tp.part_of = "main", tp.times = 5 : i64} {
  %i = arith.constant 2 : index
  %next = tensor.insert_slice %w into %s[%i, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<8x6xf32> into tensor<5x8x6xf32>
  return %next : tensor<5x8x6xf32>
}

// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file --verify-diagnostics | FileCheck %s

// A style binds over an entry with all its parts. The product of 'head' is in
// the first part, its gradient in the second one, and the update in the entry:
// all have the layout that the product of the forward pass asks for, and so have
// the update and the optimizer state. So it is with a stack of weights.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "head" with colwise
  tp.parallelize "blocks.up" with colwise
  tp.argument "blocks.norm" shard<1>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: tp.kind = "parameter", tp.name = "head.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.kind = "parameter", tp.name = "head.bias", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.kind = "opt_m", tp.name = "head.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "blocks.up", tp.pin = {tp = #tp.placement<shard<2>>}
// CHECK-SAME: tp.kind = "parameter", tp.name = "blocks.norm", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.kind = "opt_m", tp.name = "blocks.norm", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.kind = "new_parameter", tp.name = "head.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
func.func @main(%w: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "parameter"},
                %b: tensor<6xf32> {tp.name = "head.bias", tp.kind = "parameter"},
                %m: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "opt_m"},
                %s: tensor<3x8x6xf32> {tp.name = "blocks.up", tp.kind = "parameter"},
                %n: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "parameter"},
                %nm: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "opt_m"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %c: tensor<4x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> (tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "new_parameter"}, tensor<4x6xf32>, tensor<6xf32>, tensor<3x8x6xf32>, tensor<3x8xf32>) {
  %w2 = arith.subf %w, %m : tensor<8x6xf32>
  %b2 = arith.addf %b, %b : tensor<6xf32>
  %s2 = arith.addf %s, %s : tensor<3x8x6xf32>
  %n2 = arith.addf %n, %nm : tensor<3x8xf32>
  return %w2, %c, %b2, %s2, %n2 : tensor<8x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<3x8x6xf32>, tensor<3x8xf32>
}
// CHECK-LABEL: func.func @main.part0
// CHECK-SAME: tp.kind = "parameter", tp.name = "head.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "blocks.up", tp.pin = {tp = #tp.placement<shard<2>>}
// CHECK: tp.constrain {{.*}} at "head" "output"
func.func @main.part0(%w: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "parameter"},
                      %b: tensor<6xf32> {tp.name = "head.bias", tp.kind = "parameter"},
                      %m: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "opt_m"},
                      %s: tensor<3x8x6xf32> {tp.name = "blocks.up", tp.kind = "parameter"},
                      %n: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "parameter"},
                      %nm: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "opt_m"},
                      %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                      %c: tensor<4x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> (tensor<4x6xf32> {tp.name = "main: value 0", tp.kind = "carried", tp.updates = "main: value 0"})
    attributes {tp.part_of = "main", tp.times = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32> loc("head"("dot"))
  %z = linalg.generic {indexing_maps = [affine_map<(b, n) -> (b, n)>, affine_map<(b, n) -> (n)>, affine_map<(b, n) -> (b, n)>], iterator_types = ["parallel", "parallel"]} ins(%y, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %sum = arith.addf %l, %r : f32
    linalg.yield %sum : f32
  } -> tensor<4x6xf32>
  %layer = tensor.extract_slice %s[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %u = linalg.matmul ins(%x, %layer : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %u : tensor<4x6xf32>
}
// CHECK-LABEL: func.func @main.part1
// CHECK-SAME: tp.kind = "parameter", tp.name = "head.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-NOT: tp.constrain
func.func @main.part1(%w: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "parameter"},
                      %b: tensor<6xf32> {tp.name = "head.bias", tp.kind = "parameter"},
                      %m: tensor<8x6xf32> {tp.name = "head.kernel", tp.kind = "opt_m"},
                      %s: tensor<3x8x6xf32> {tp.name = "blocks.up", tp.kind = "parameter"},
                      %n: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "parameter"},
                      %nm: tensor<3x8xf32> {tp.name = "blocks.norm", tp.kind = "opt_m"},
                      %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                      %c: tensor<4x6xf32> {tp.name = "main: value 0", tp.kind = "carried"})
    -> (tensor<4x6xf32> {tp.name = "main: value 0", tp.kind = "carried", tp.updates = "main: value 0"})
    attributes {tp.part_of = "main", tp.times = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %et = tensor.empty() : tensor<6x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x6xf32>) outs(%et : tensor<6x8xf32>) permutation = [1, 0]
  %dx = linalg.matmul ins(%c, %t : tensor<4x6xf32>, tensor<6x8xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  %layer = tensor.extract_slice %s[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %e6 = tensor.empty() : tensor<4x6xf32>
  %i6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%dx, %layer : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i6 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// RUN: split-file %s %t
// RUN: tp-opt %t/step.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-verify-bound | FileCheck %s
// RUN: tp-opt %t/step.mlir --tp-apply-plan='plan=%t/some.mlir' --tp-verify-bound | FileCheck %s --check-prefix=SOME
// RUN: tp-opt %t/step.mlir --tp-apply-plan='plan=%t/whole.mlir' --tp-verify-bound | FileCheck %s --check-prefix=WHOLE
// RUN: not tp-opt %t/step.mlir --tp-apply-plan='plan=auto' 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: tp-opt %t/step.mlir --tp-apply-plan='plan=auto mesh=dp=2,tp=2' --tp-verify-bound | FileCheck %s --check-prefix=TWO-AXES
// RUN: not tp-opt %t/step.mlir --tp-apply-plan='plan=auto mesh=tp=0' 2>&1 | FileCheck %s --check-prefix=ZERO

// RUN: tp-opt %t/stacked.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-verify-bound | FileCheck %s --check-prefix=STACKED

// What a plan with `auto` does not name: weights are to be shards, other
// parameters may be, states and what becomes of them are what the parameter is;
// inputs are replicated and results free.

// CHECK: tp.name = "x", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = "sharded"}
// CHECK-SAME: tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = "as_parameter"}
// CHECK-SAME: tp.kind = "opt_step", tp.name = "step", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.kind = "parameter", tp.name = "norm.weight", tp.pin = {tp = "any"}
// CHECK-SAME: -> (tensor<2x8xf32>, tensor<8x4xf32> {tp.kind = "new_parameter", tp.name = "up.weight", tp.pin = {tp = "as_parameter"}}
// CHECK-SAME: tp.kind = "new_exp_avg", tp.name = "up.weight", tp.pin = {tp = "as_parameter"}
// CHECK-SAME: tp.kind = "new_step", tp.name = "step", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.kind = "new_parameter", tp.name = "norm.weight", tp.pin = {tp = "as_parameter"}

// SOME: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}
// SOME-SAME: tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}
// SOME-SAME: tp.kind = "parameter", tp.name = "norm.weight", tp.pin = {tp = "any"}

// A weight that stays whole, its states and what becomes of them.
// WHOLE: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<replicate>}
// WHOLE-SAME: tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<replicate>}
// WHOLE-SAME: tp.kind = "parameter", tp.name = "norm.weight", tp.pin = {tp = "any"}
// WHOLE-SAME: tp.kind = "new_parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<replicate>}

// RUN: tp-opt %t/derived.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-verify-bound | FileCheck %s --check-prefix=DERIVED

// Weights that are stacked over layers are weights, also of the first layers alone and of groups of
// layers; part of a matrix is none, and no row of one, and no part of several matrices at once.
// STACKED: tp.name = "up.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "part", tp.pin = {tp = "any"}
// STACKED-SAME: tp.name = "rows", tp.pin = {tp = "any"}
// STACKED: @others(
// STACKED-SAME: tp.name = "first.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "groups.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "packed.kernel", tp.pin = {tp = "any"}

// What products read may be computed from parameters alone: scaled, a stack in the reverse order, or
// joined of its parts. What is added to an activation is no weight, and the small matrices whose
// product is added to a weight may stay whole.
// DERIVED: tp.name = "scaled.kernel", tp.pin = {tp = "sharded"}
// DERIVED-SAME: tp.name = "added", tp.pin = {tp = "any"}
// DERIVED-SAME: tp.name = "reversed.kernel", tp.pin = {tp = "sharded"}
// DERIVED-SAME: tp.name = "joined.kernel", tp.pin = {tp = "sharded"}
// DERIVED-SAME: tp.name = "adapted.kernel", tp.pin = {tp = "sharded"}
// DERIVED-SAME: tp.name = "columns", tp.pin = {tp = "any"}
// DERIVED-SAME: tp.name = "rows", tp.pin = {tp = "any"}

// NO-MESH: --mesh:1:1: error: plan 'auto' needs the mesh, expected axis=size with a size of at least 1, got ''

// On several axes each is left to tp.
// TWO-AXES: tp.auto = ["dp", "tp"]
// TWO-AXES: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {dp = "sharded", tp = "sharded"}

// ZERO: --mesh:1:1: error: plan 'auto' needs the mesh, expected axis=size with a size of at least 1, got 'tp=0'

//--- some.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @some on #mesh["tp"] auto {
  tp.parallelize "up" with rowwise
}
//--- whole.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @whole on #mesh["tp"] auto {
  tp.parallelize "up" with replicate
}
//--- stacked.mlir
func.func @main(%w: tensor<3x8x6xf32> {tp.name = "up.kernel", tp.kind = "parameter"}, %p: tensor<16x6xf32> {tp.name = "part", tp.kind = "parameter"}, %r: tensor<3x8xf32> {tp.name = "rows", tp.kind = "parameter"}, %x: tensor<4x8xf32>, %i: tensor<4x6xf32>, %j: tensor<4xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %s = tensor.extract_slice %w[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %h = tensor.extract_slice %p[8, 0] [8, 6] [1, 1] : tensor<16x6xf32> to tensor<8x6xf32>
  %y = linalg.matmul ins(%x, %s : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.matmul ins(%x, %h : tensor<4x8xf32>, tensor<8x6xf32>) outs(%y : tensor<4x6xf32>) -> tensor<4x6xf32>
  %row = tensor.extract_slice %r[1, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
  %v = linalg.matvec ins(%x, %row : tensor<4x8xf32>, tensor<8xf32>) outs(%j : tensor<4xf32>) -> tensor<4xf32>
  return %z, %v : tensor<4x6xf32>, tensor<4xf32>
}
func.func @others(%w: tensor<3x8x6xf32> {tp.name = "first.kernel", tp.kind = "parameter"}, %g: tensor<4x8x6xf32> {tp.name = "groups.kernel", tp.kind = "parameter"}, %p: tensor<3x8x6xf32> {tp.name = "packed.kernel", tp.kind = "parameter"}, %x: tensor<4x8xf32>, %b: tensor<2x4x8xf32>, %i: tensor<4x6xf32>, %j: tensor<2x4x6xf32>) -> (tensor<4x6xf32>, tensor<2x4x6xf32>) {
  %first = tensor.extract_slice %w[0, 0, 0] [2, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<2x8x6xf32>
  %s = tensor.extract_slice %first[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<2x8x6xf32> to tensor<8x6xf32>
  %groups = tensor.expand_shape %g [[0, 1], [2], [3]] output_shape [2, 2, 8, 6] : tensor<4x8x6xf32> into tensor<2x2x8x6xf32>
  %group = tensor.extract_slice %groups[1, 0, 0, 0] [1, 2, 8, 6] [1, 1, 1, 1] : tensor<2x2x8x6xf32> to tensor<2x8x6xf32>
  %t = tensor.extract_slice %group[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<2x8x6xf32> to tensor<8x6xf32>
  %two = tensor.extract_slice %p[0, 0, 0] [2, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<2x8x6xf32>
  %y = linalg.matmul ins(%x, %s : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x6xf32>) outs(%y : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v = linalg.batch_matmul ins(%b, %two : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%j : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %z, %v : tensor<4x6xf32>, tensor<2x4x6xf32>
}
//--- step.mlir
func.func @main(%x: tensor<2x4xf32> {tp.name = "x"}, %w: tensor<8x4xf32> {tp.name = "up.weight", tp.kind = "parameter"}, %m: tensor<8x4xf32> {tp.name = "up.weight", tp.kind = "opt_exp_avg"}, %step: tensor<f32> {tp.name = "step", tp.kind = "opt_step"}, %n: tensor<4xf32> {tp.name = "norm.weight", tp.kind = "parameter"}) -> (tensor<2x8xf32>, tensor<8x4xf32> {tp.name = "up.weight", tp.kind = "new_parameter"}, tensor<8x4xf32> {tp.name = "up.weight", tp.kind = "new_exp_avg"}, tensor<f32> {tp.name = "step", tp.kind = "new_step"}, tensor<4xf32> {tp.name = "norm.weight", tp.kind = "new_parameter"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, n, i) -> (b, i)>, affine_map<(b, n, i) -> (n, i)>, affine_map<(b, n, i) -> (b, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x4xf32>, tensor<8x4xf32>) outs(%init : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x8xf32> loc("up"("linear"))
  %w2 = arith.subf %w, %m : tensor<8x4xf32>
  %m2 = arith.addf %m, %w : tensor<8x4xf32>
  %n2 = arith.addf %n, %n : tensor<4xf32>
  %step2 = arith.addf %step, %step : tensor<f32>
  return %y, %w2, %m2, %step2, %n2 : tensor<2x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<4xf32>
}
//--- derived.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @main(
    %x: tensor<2x8xf32> {tp.name = "x", tp.kind = "user_input"},
    %scaled: tensor<8x8xf32> {tp.name = "scaled.kernel", tp.kind = "parameter"},
    %added: tensor<2x8xf32> {tp.name = "added", tp.kind = "parameter"},
    %reversed: tensor<3x8x8xf32> {tp.name = "reversed.kernel", tp.kind = "parameter"},
    %joined: tensor<3x8x8xf32> {tp.name = "joined.kernel", tp.kind = "parameter"},
    %adapted: tensor<8x8xf32> {tp.name = "adapted.kernel", tp.kind = "parameter"},
    %columns: tensor<8x2xf32> {tp.name = "columns", tp.kind = "parameter"},
    %rows: tensor<2x8xf32> {tp.name = "rows", tp.kind = "parameter"}) -> tensor<2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<2x8xf32>
  %m = tensor.empty() : tensor<8x8xf32>
  %s = tensor.empty() : tensor<3x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%m : tensor<8x8xf32>) -> tensor<8x8xf32>
  %w0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%scaled : tensor<8x8xf32>) outs(%m : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.mulf %in, %half : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %y0 = linalg.add ins(%x, %added : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  %y1 = linalg.matmul ins(%y0, %w0 : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (2 - d0, d1, d2)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%reversed : tensor<3x8x8xf32>) outs(%s : tensor<3x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x8x8xf32>
  %w1 = tensor.extract_slice %r[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<8x8xf32>
  %y2 = linalg.matmul ins(%y1, %w1 : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
  %last = tensor.extract_slice %joined[2, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<1x8x8xf32>
  %first = tensor.extract_slice %joined[0, 0, 0] [2, 8, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<2x8x8xf32>
  %j = linalg.generic {indexing_maps = [#id3], iterator_types = ["parallel", "parallel", "parallel"]} outs(%s : tensor<3x8x8xf32>) {
  ^bb0(%out: f32):
    %l = linalg.index 0 : index
    %a = linalg.index 1 : index
    %b = linalg.index 2 : index
    %isLast = arith.cmpi ult, %l, %c1 : index
    %l0 = arith.select %isLast, %l, %c1 : index
    %l00 = arith.subi %l0, %l0 : index
    %v0 = tensor.extract %last[%l00, %a, %b] : tensor<1x8x8xf32>
    %l1 = arith.maxui %l, %c1 : index
    %l10 = arith.subi %l1, %c1 : index
    %v1 = tensor.extract %first[%l10, %a, %b] : tensor<2x8x8xf32>
    %v = arith.select %isLast, %v0, %v1 : f32
    linalg.yield %v : f32
  } -> tensor<3x8x8xf32>
  %w2 = tensor.extract_slice %j[1, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<8x8xf32>
  %y3 = linalg.matmul ins(%y2, %w2 : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
  %p = linalg.matmul ins(%columns, %rows : tensor<8x2xf32>, tensor<2x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %w3 = linalg.add ins(%adapted, %p : tensor<8x8xf32>, tensor<8x8xf32>) outs(%m : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y4 = linalg.matmul ins(%y3, %w3 : tensor<2x8xf32>, tensor<8x8xf32>) outs(%f : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %y4 : tensor<2x8xf32>
}

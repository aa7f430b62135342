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

// Weights that are stacked over layers are weights, also of the first layers alone and of groups of
// layers; part of a matrix is none, and no row of one, and no part of several matrices at once.
// STACKED: tp.name = "up.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "part", tp.pin = {tp = "any"}
// STACKED-SAME: tp.name = "rows", tp.pin = {tp = "any"}
// STACKED: @others(
// STACKED-SAME: tp.name = "first.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "groups.kernel", tp.pin = {tp = "sharded"}
// STACKED-SAME: tp.name = "packed.kernel", tp.pin = {tp = "any"}

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

// RUN: split-file %s %t
// RUN: tp-opt %t/step.mlir --tp-apply-plan | FileCheck %s
// RUN: not tp-opt %t/name.mlir --tp-apply-plan 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/tp.result \("up.weight"\) shard<0>/tp.argument \1 shard<1>/' %t/name.mlir > %t/alone.mlir
// RUN: tp-opt %t/alone.mlir --tp-apply-plan | FileCheck %s --check-prefix=ALONE
// RUN: tp-opt %t/kind.mlir --tp-apply-plan | FileCheck %s --check-prefix=KIND
// RUN: tp-opt %t/step.mlir --tp-apply-plan -o %t/planned.mlir
// RUN: tp-compile %t/planned.mlir -o %t/step.tp
// RUN: %python -c "import sys; text = open(sys.argv[1], 'rb').read(); assert b'{\"name\":\"up.weight\",\"kind\":\"opt_exp_avg\",' in text and b'source_keys' not in text, text[:4000]" %t/step.tp

// A state, and what becomes of state and parameter, lie as the parameter does;
// where a plan says nothing of a parameter its update is replicated, too. Files
// have a state under its kind and name, which is the default of a manifest.

// CHECK: %arg1: tensor<8x4xf32> {tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<0>>}}
// CHECK-SAME: %arg2: tensor<8x4xf32> {tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<0>>}}
// CHECK-SAME: %arg3: tensor<f32> {tp.kind = "opt_step", tp.name = "step", tp.pin = {tp = #tp.placement<replicate>}}
// CHECK-SAME: %arg4: tensor<4xf32> {tp.kind = "parameter", tp.name = "norm.weight", tp.pin = {tp = #tp.placement<replicate>}}
// CHECK-SAME: tensor<8x4xf32> {tp.kind = "new_parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<0>>}}
// CHECK-SAME: tensor<8x4xf32> {tp.kind = "new_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<0>>}}
// CHECK-SAME: tensor<f32> {tp.kind = "new_step", tp.name = "step", tp.pin = {tp = #tp.placement<replicate>}}
// CHECK-SAME: tensor<4xf32> {tp.kind = "new_parameter", tp.name = "norm.weight", tp.pin = {tp = #tp.placement<replicate>}}

// A name alone is the parameter's. Of results it is not clear.
// NAME: error: result 'up.weight' may be any of 2 results: write 'new_parameter:up.weight' or 'new_exp_avg:up.weight'
// ALONE: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}
// ALONE-SAME: tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}

// KIND: tp.kind = "parameter", tp.name = "up.weight", tp.pin = {tp = #tp.placement<replicate>}
// KIND-SAME: tp.kind = "opt_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}
// KIND-SAME: tp.kind = "new_exp_avg", tp.name = "up.weight", tp.pin = {tp = #tp.placement<shard<1>>}

//--- step.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "up" with colwise
}
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
//--- name.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.result "up.weight" shard<0>
}
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
//--- kind.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "opt_exp_avg:up.weight" shard<1>
}
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

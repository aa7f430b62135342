// RUN: tp-opt %s --tp-apply-plan=strict=true --tp-verify-bound --split-input-file --mlir-print-debuginfo | FileCheck %s

// What each style pins, on modules small enough to see whole. The plan stands
// in the module.

// Linear out x in with a bias: colwise shards the dimension that is not
// contracted, rowwise the contracted one; rowwise's bias is whole, its default
// output may stay partial.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @mlp on #mesh["tp"] {
  tp.parallelize "w1" with colwise
  tp.parallelize "w2" with rowwise
  tp.argument "x" replicate
  tp.result 0 shard<-2>
}
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: tp.name = "w1.weight", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "w1.bias", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "w2.weight", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "w2.bias", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.name = "x", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: -> (tensor<4x6xf32> {tp.pin = {tp = #tp.placement<shard<0>>}})
// CHECK: %[[IN:.*]] = tp.constrain %arg4 on "tp" of #mesh to replicate view [4, 6] at "w1" "input" {tp.expected} : tensor<4x6xf32> loc(#[[W1:.*]])
// CHECK: %[[MM1:.*]] = linalg.matmul ins(%[[IN]],
// CHECK: %[[SUM1:.*]] = linalg.generic {{.*}} ins(%[[MM1]],
// CHECK: %[[OUT1:.*]] = tp.constrain %[[SUM1]] on "tp" of #mesh to shard<1> view [4, 10] at "w1" "output"
// CHECK: %[[IN2:.*]] = tp.constrain %[[OUT1]] on "tp" of #mesh to shard<1> view [4, 10] at "w2" "input" {tp.expected} :
// CHECK: %[[MM2:.*]] = linalg.matmul ins(%[[IN2]],
// CHECK: %[[SUM2:.*]] = linalg.generic {{.*}} ins(%[[MM2]],
// CHECK: tp.constrain %[[SUM2]] on "tp" of #mesh to replicate view [4, 6] lazy at "w2" "output"
// The pin is where its entry is.
// CHECK: #[[W1]] = loc("{{.*}}":12:3)
#row = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @mlp(%w1: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "parameter"}, %b1: tensor<10xf32> {tp.name = "w1.bias", tp.kind = "parameter"},
               %w2: tensor<6x10xf32> {tp.name = "w2.weight", tp.kind = "parameter"}, %b2: tensor<6xf32> {tp.name = "w2.bias", tp.kind = "parameter"},
               %x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x10xf32>
  %t1 = linalg.transpose ins(%w1 : tensor<10x6xf32>) outs(%e0 : tensor<6x10xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<4x10xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %m1 = linalg.matmul ins(%x, %t1 : tensor<4x6xf32>, tensor<6x10xf32>) outs(%i1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m1, %b1 : tensor<4x10xf32>, tensor<10xf32>) outs(%e1 : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  %e2 = tensor.empty() : tensor<10x6xf32>
  %t2 = linalg.transpose ins(%w2 : tensor<6x10xf32>) outs(%e2 : tensor<10x6xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<4x6xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m2 = linalg.matmul ins(%h, %t2 : tensor<4x10xf32>, tensor<10x6xf32>) outs(%i3 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %bias = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%b2 : tensor<6xf32>) outs(%e3 : tensor<4x6xf32>) {
  ^bb0(%b: f32, %o: f32):
    linalg.yield %b : f32
  } -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m2, %bias : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e3 : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// Conv1D keeps its weight in x out: the same words shard the other dimension.
// Explicit layouts pin the outer side: outer before inner on the way in.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @conv1d on #mesh["tp"] {
  tp.parallelize "c_fc" with colwise {input_layouts = shard<1>, output_layouts = [replicate]}
}
// CHECK-LABEL: func.func @conv1d(
// CHECK-SAME: tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK: %[[OUTER:.*]] = tp.constrain %{{.*}} to shard<1> view [3, 4, 6] at "c_fc" "input" {tp.expected} : tensor<12x6xf32>
// CHECK: %[[INNER:.*]] = tp.constrain %[[OUTER]] {{.*}} to replicate view [3, 4, 6] at "c_fc" "input" :
// CHECK: %[[MM:.*]] = linalg.matmul ins(%[[INNER]],
// CHECK: tp.constrain %[[MM]] {{.*}} to replicate view [3, 4, 10] at "c_fc" "output"
func.func @conv1d(%w: tensor<6x10xf32> {tp.name = "c_fc.weight", tp.kind = "parameter"}, %x: tensor<3x4x6xf32>) -> tensor<3x4x10xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x4x6xf32> into tensor<12x6xf32>
  %e = tensor.empty() : tensor<12x10xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<12x10xf32>) -> tensor<12x10xf32>
  %m = linalg.matmul ins(%rows, %w : tensor<12x6xf32>, tensor<6x10xf32>) outs(%i : tensor<12x10xf32>) -> tensor<12x10xf32>
  %y = tensor.expand_shape %m [[0, 1], [2]] output_shape [3, 4, 10] : tensor<12x10xf32> into tensor<3x4x10xf32>
  return %y : tensor<3x4x10xf32>
}

// -----

// An embedding over an uneven vocabulary: rowwise shards the rows, the indices
// come in whole. One plan per axis.

#mesh = #tp.mesh<"dp" = 3, "tp" = 4>
tp.plan @rows on #mesh["tp"] {
  tp.parallelize "wte" with rowwise {output_layouts = [shard<1>]}
}
tp.plan @batch on #mesh["dp"] {
  tp.argument 1 shard<0>
}
// CHECK-LABEL: func.func @embedding(
// CHECK-SAME: tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.pin = {dp = #tp.placement<shard<0>>, tp = #tp.placement<replicate>}
// CHECK: %[[IDS:.*]] = tp.constrain %arg1 on "tp" of #mesh to replicate view [3, 4] at "wte" "input" {tp.expected} :
// CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[IDS]]
// CHECK: tp.constrain %[[ROWS]] {{.*}} to shard<1> view [3, 4, 6] at "wte" "output"
#ids = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @embedding(%w: tensor<11x6xf32> {tp.name = "wte.weight", tp.kind = "parameter"}, %x: tensor<3x4xi64> {tp.name = "ids", tp.kind = "user_input"}) -> tensor<3x4x6xf32> {
  %e = tensor.empty() : tensor<3x4x6xf32>
  %y = linalg.generic {indexing_maps = [#ids, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x4xi64>) outs(%e : tensor<3x4x6xf32>) {
  ^bb0(%id: i64, %o: f32):
    %at = arith.index_cast %id : i64 to index
    %col = linalg.index 2 : index
    %v = tensor.extract %w[%at, %col] : tensor<11x6xf32>
    linalg.yield %v : f32
  } -> tensor<3x4x6xf32>
  return %y : tensor<3x4x6xf32>
}

// -----

// Modules without parameters to follow: the table names their nodes. Only the
// norm's own uses of its input are pinned, the residual sum's is not. A module
// inside another one is pinned inside it. The later entry overrides.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: tp.bindings = [
// CHECK-SAME: {axis = "tp", entry = "block.*", module = "block.norm", status = "overridden", style = "sequence_parallel", values = []}
// CHECK-SAME: tp.mesh = #mesh
// CHECK: func.func @ports(
// CHECK: %[[OUTER:.*]] = tp.constrain %arg0 {{.*}} to replicate view [4, 6] at "block" "input" {tp.expected} :
// CHECK: %[[BLOCK:.*]] = tp.constrain %[[OUTER]] {{.*}} to shard<0> view [4, 6] at "block" "input" :
// CHECK: %[[NORM:.*]] = tp.constrain %[[BLOCK]] {{.*}} to shard<1> view [4, 6] at "block.norm" "input" :
// CHECK: %[[EXP:.*]] = linalg.exp ins(%[[NORM]] :
// CHECK: %[[OUT:.*]] = tp.constrain %[[EXP]] {{.*}} to shard<1> view [4, 6] at "block.norm" "output"
// CHECK: %[[ADD:.*]] = linalg.add ins(%[[BLOCK]], %[[OUT]] :
// CHECK: %[[FROM:.*]] = tp.constrain %[[ADD]] {{.*}} to shard<1> view [4, 6] at "block" "output"
// CHECK: %[[TO:.*]] = tp.constrain %[[FROM]] {{.*}} to replicate view [4, 6] at "block" "output"
// CHECK: return %[[TO]]
module attributes {tp.modules = [
    {name = "block", class = "Block", inputs = ["x"], outputs = ["add"]},
    {name = "block.norm", class = "Norm", inputs = ["x"], outputs = ["exp"]}]} {
  tp.plan @ports on #mesh["tp"] {
    tp.parallelize "block" with prepare_module_input_output {
      input_layouts = [replicate], desired_input_layouts = [shard<0>],
      output_layouts = [shard<1>], desired_output_layouts = [replicate]}
    tp.parallelize "block.*" with sequence_parallel
    tp.parallelize "block.norm" with sequence_parallel {sequence_dim = -1, override = true}
  }
  func.func @ports(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %n = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block.norm"("exp"))
    %y = linalg.add ins(%x, %n : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("add"))
    return %y : tensor<4x6xf32>
  }
}

// -----

// A position is an argument's: the parts of a tuple have one together. Behind
// the positional arguments come those by keyword.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: func.func @arguments(
// CHECK: %[[FROM_S:.*]] = tp.constrain %arg3 {{.*}} to shard<1> view [4, 6] at "block" "input 2" {tp.expected} :
// CHECK: %[[S:.*]] = tp.constrain %[[FROM_S]] {{.*}} to shard<1> view [4, 6] at "block" "input 2" :
// CHECK: %[[FROM_X:.*]] = tp.constrain %arg2 {{.*}} to shard<0> view [4, 6] at "block" "input 1" {tp.expected} :
// CHECK: %[[X:.*]] = tp.constrain %[[FROM_X]] {{.*}} to shard<0> view [4, 6] at "block" "input 1" :
// CHECK: linalg.add ins(%arg0, %arg1 :
// CHECK: linalg.add ins(%{{.*}}, %[[X]] :
// CHECK: linalg.add ins(%{{.*}}, %[[S]] :
module attributes {tp.modules = [
    {name = "block", inputs = ["a", "b", "x", "s"], outputs = ["add_2"],
     input_names = ["pair", "pair", "x", "scale"], positional = ["pair", "x"]}]} {
  tp.plan @p on #mesh["tp"] {
    tp.parallelize "block" with prepare_module_input {
      input_layouts = [none, shard<0>, shard<1>],
      desired_input_layouts = [none, shard<0>, shard<1>]}
  }
  func.func @arguments(
      %a: tensor<4x6xf32> {tp.name = "a", tp.kind = "user_input"},
      %b: tensor<4x6xf32> {tp.name = "b", tp.kind = "user_input"},
      %x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"},
      %s: tensor<4x6xf32> {tp.name = "s", tp.kind = "user_input"}) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %0 = linalg.add ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("add"))
    %1 = linalg.add ins(%0, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("add_1"))
    %2 = linalg.add ins(%1, %s : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("add_2"))
    return %2 : tensor<4x6xf32>
  }
}

// -----

// So have the parts of a tuple that is returned.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: func.func @results(
// CHECK: %[[Z:.*]] = linalg.tanh
// CHECK: %[[FROM_Z:.*]] = tp.constrain %[[Z]] {{.*}} to shard<0> view [4, 6] at "block" "output 1" {tp.expected} :
// CHECK: %[[TO_Z:.*]] = tp.constrain %[[FROM_Z]] {{.*}} to shard<1> view [4, 6] at "block" "output 1" :
// CHECK: return %{{[0-9]+}}, %{{[0-9]+}}, %[[TO_Z]] :
module attributes {tp.modules = [
    {name = "block", inputs = ["x"], outputs = ["exp", "abs", "tanh"],
     output_sizes = array<i64: 2, 1>}]} {
  tp.plan @p on #mesh["tp"] {
    tp.parallelize "block" with prepare_module_output {
      output_layouts = [none, shard<0>],
      desired_output_layouts = [none, shard<1>]}
  }
  func.func @results(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"})
      -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
    %e = tensor.empty() : tensor<4x6xf32>
    %0 = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("exp"))
    %1 = linalg.abs ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("abs"))
    %2 = linalg.tanh ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("block"("tanh"))
    return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}

// -----

// Replicate pins the parameters of the module itself and no boundary, which
// other styles may pin. A buffer is no parameter. Where a parameter is dead, the
// one that it is tied to is pinned. The root module may have parameters too.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: tp.bindings = [
// CHECK-SAME: module = "", status = "bound", style = "replicate", values = [{dims = array<i64: 4, 6>, layout = "replicate", loc = "scale", port = "parameter"}]}
// CHECK-SAME: module = "wq", status = "overridden", style = "colwise", values = []}
// CHECK-SAME: module = "wq", status = "bound", style = "replicate", values = [{dims = array<i64: 6, 6>, layout = "replicate", loc = "wq.weight", port = "parameter"}, {dims = array<i64: 4, 6>, layout = "replicate", loc = "wq.shift", port = "parameter"}]}
// CHECK-SAME: module = "norm", status = "bound", style = "replicated_with_grad_allreduce", values = [{dims = array<i64: 4, 6>, layout = "replicate", loc = "norm.weight", port = "parameter"}]}
// CHECK-SAME: module = "norm", status = "bound", style = "sequence_parallel",
// CHECK-SAME: module = "head", status = "bound", style = "ReplicateParallel", values = [{dims = array<i64: 6, 6>, layout = "replicate", loc = "wq.weight", port = "parameter"}]}
// CHECK: func.func @whole(
// CHECK-SAME: tp.name = "wq.weight", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.name = "wq.shift", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.name = "wq.inner.weight", tp.pin = {tp = "any"}
// CHECK-SAME: tp.name = "norm.weight", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.name = "head.weight", tp.pin = {tp = "any"}
// CHECK-SAME: tp.name = "scale", tp.pin = {tp = #tp.placement<replicate>}
// CHECK: linalg.matmul ins(%arg0, %arg1 :
// CHECK: %[[INNER:.*]] = linalg.add ins({{.*}}, %arg4 :
// CHECK: %[[NORM:.*]] = tp.constrain %[[INNER]] {{.*}} to shard<0> view [4, 6] at "norm" "input" :
// CHECK: %[[MUL:.*]] = linalg.mul ins(%[[NORM]], %arg5 :
// CHECK: %[[OUT:.*]] = tp.constrain %[[MUL]] {{.*}} to shard<0> view [4, 6] at "norm" "output"
// CHECK: %[[HEAD:.*]] = linalg.matmul ins(%[[OUT]], %arg1 :
// CHECK: linalg.mul ins(%[[HEAD]], %arg7 :
module attributes {tp.modules = [{name = "norm", class = "Norm", inputs = ["add_2"], outputs = ["mul"]}]} {
  tp.plan @whole on #mesh["tp"] auto {
    tp.parallelize "" with replicate
    tp.parallelize "wq" with colwise
    tp.parallelize "wq" with replicate {override = true}
    tp.parallelize "norm" with replicated_with_grad_allreduce
    tp.parallelize "norm" with sequence_parallel {sequence_dim = 0}
    tp.parallelize "head" with ReplicateParallel
  }
  func.func @whole(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"}, %w: tensor<6x6xf32> {tp.name = "wq.weight", tp.kind = "parameter"},
                   %shift: tensor<4x6xf32> {tp.name = "wq.shift", tp.kind = "parameter"}, %mask: tensor<4x6xf32> {tp.name = "wq.mask", tp.kind = "buffer"},
                   %inner: tensor<4x6xf32> {tp.name = "wq.inner.weight", tp.kind = "parameter"}, %g: tensor<4x6xf32> {tp.name = "norm.weight", tp.kind = "parameter"},
                   %dead: tensor<6x6xf32> {tp.name = "head.weight", tp.kind = "parameter"}, %scale: tensor<4x6xf32> {tp.name = "scale", tp.kind = "parameter"}) -> tensor<4x6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x6xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    %m = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32> loc("wq"("mm"))
    %a = linalg.add ins(%m, %shift : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("wq"("add"))
    %b = linalg.add ins(%a, %mask : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("wq"("add_1"))
    %c = linalg.add ins(%b, %inner : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("wq.inner"("add_2"))
    %n = linalg.mul ins(%c, %g : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("norm"("mul"))
    %h = linalg.matmul ins(%n, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32> loc("head"("mm_1"))
    %y = linalg.mul ins(%h, %scale : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc(""("mul_1"))
    return %y : tensor<4x6xf32>
  }
}

// -----

// What the module itself reads of its output is inside of the boundary.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: func.func @own_use(
// CHECK: %[[EXP:.*]] = linalg.exp
// CHECK: %[[PIN:.*]] = tp.constrain %[[EXP]] {{.*}} to shard<0> view [4, 6] at "m" "output"
// CHECK: %[[SIDE:.*]] = linalg.negf ins(%[[EXP]] :
// CHECK: linalg.add ins(%[[PIN]], %[[SIDE]] :
module attributes {tp.modules = [{name = "m", class = "M", inputs = ["x"], outputs = ["exp"]}]} {
  tp.plan @own_use on #mesh["tp"] {
    tp.parallelize "m" with prepare_module_output {output_layouts = none, desired_output_layouts = shard<0>}
  }
  func.func @own_use(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %n = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("m"("exp"))
    %s = linalg.negf ins(%n : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("m"("neg"))
    %y = linalg.add ins(%n, %s : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc(""("add"))
    return %y : tensor<4x6xf32>
  }
}

// -----

// Sums in f32 are rounded after the product, or after the bias: that is the module's
// output. A cast to another type than the input's is not.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @rounded on #mesh["tp"] {
  tp.parallelize "w1" with colwise
  tp.parallelize "w2" with rowwise {output_layouts = [shard<0>]}
  tp.parallelize "w3" with rowwise {output_layouts = [shard<0>]}
}
// CHECK-LABEL: func.func @rounded(
// CHECK: %[[MM1:.*]] = linalg.matmul {{.*}} -> tensor<4x10xf32>
// CHECK: %[[BF1:.*]] = linalg.generic {{.*}} ins(%[[MM1]] : tensor<4x10xf32>) outs({{.*}} : tensor<4x10xbf16>)
// CHECK: tp.constrain %[[BF1]] on "tp" of #mesh to shard<1> view [4, 10] at "w1" "output" : tensor<4x10xbf16>
// CHECK: %[[MM2:.*]] = linalg.matmul {{.*}} -> tensor<4x6xf32>
// CHECK: %[[SUM2:.*]] = linalg.generic {{.*}} ins(%[[MM2]],
// CHECK: %[[BF2:.*]] = linalg.generic {{.*}} ins(%[[SUM2]] : tensor<4x6xf32>) outs({{.*}} : tensor<4x6xbf16>)
// CHECK: tp.constrain %[[BF2]] on "tp" of #mesh to shard<0> view [4, 6] at "w2" "output" : tensor<4x6xbf16>
// CHECK: %[[MM3:.*]] = linalg.matmul {{.*}} -> tensor<4x2xf32>
// CHECK: tp.constrain %[[MM3]] on "tp" of #mesh to shard<0> view [4, 2] at "w3" "output" : tensor<4x2xf32>
#row = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @rounded(%w1: tensor<6x10xbf16> {tp.name = "w1.weight", tp.kind = "parameter"}, %w2: tensor<10x6xbf16> {tp.name = "w2.weight", tp.kind = "parameter"},
                   %b2: tensor<6xbf16> {tp.name = "w2.bias", tp.kind = "parameter"}, %w3: tensor<6x2xbf16> {tp.name = "w3.weight", tp.kind = "parameter"},
                   %x: tensor<4x6xbf16> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x2xf16> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x10xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %m1 = linalg.matmul ins(%x, %w1 : tensor<4x6xbf16>, tensor<6x10xbf16>) outs(%i1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %r1 = tensor.empty() : tensor<4x10xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m1 : tensor<4x10xf32>) outs(%r1 : tensor<4x10xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4x10xbf16>
  %e2 = tensor.empty() : tensor<4x6xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m2 = linalg.matmul ins(%h, %w2 : tensor<4x10xbf16>, tensor<10x6xbf16>) outs(%i2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m2, %b2 : tensor<4x6xf32>, tensor<6xbf16>) outs(%e2 : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %wide = arith.extf %b : bf16 to f32
    %s = arith.addf %a, %wide : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %r2 = tensor.empty() : tensor<4x6xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<4x6xf32>) outs(%r2 : tensor<4x6xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4x6xbf16>
  %e3 = tensor.empty() : tensor<4x2xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %m3 = linalg.matmul ins(%y, %w3 : tensor<4x6xbf16>, tensor<6x2xbf16>) outs(%i3 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %r3 = tensor.empty() : tensor<4x2xf16>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m3 : tensor<4x2xf32>) outs(%r3 : tensor<4x2xf16>) {
  ^bb0(%a: f32, %o: f16):
    %s = arith.truncf %a : f32 to f16
    linalg.yield %s : f16
  } -> tensor<4x2xf16>
  return %z : tensor<4x2xf16>
}

// -----

// Weights and biases by the names that Flax and plain trees of JAX give them.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @names on #mesh["tp"] {
  tp.parallelize "up" with colwise
  tp.parallelize "down" with rowwise
}
// CHECK-LABEL: func.func @names(
// CHECK-SAME: tp.name = "up.kernel", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "up.bias", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "down.w", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "down.b", tp.pin = {tp = #tp.placement<replicate>}
#row = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @names(%w1: tensor<6x10xf32> {tp.name = "up.kernel", tp.kind = "parameter"}, %b1: tensor<10xf32> {tp.name = "up.bias", tp.kind = "parameter"},
                 %w2: tensor<10x6xf32> {tp.name = "down.w", tp.kind = "parameter"}, %b2: tensor<6xf32> {tp.name = "down.b", tp.kind = "parameter"},
                 %x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x10xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %m1 = linalg.matmul ins(%x, %w1 : tensor<4x6xf32>, tensor<6x10xf32>) outs(%i1 : tensor<4x10xf32>) -> tensor<4x10xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m1, %b1 : tensor<4x10xf32>, tensor<10xf32>) outs(%e1 : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  %e2 = tensor.empty() : tensor<4x6xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m2 = linalg.matmul ins(%h, %w2 : tensor<4x10xf32>, tensor<10x6xf32>) outs(%i2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m2, %b2 : tensor<4x6xf32>, tensor<6xf32>) outs(%e2 : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// A pattern names every argument or result of such a name; the optimizer's
// states only with their kind.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "caches.*.keys" shard<1>
  tp.argument "opt_m:caches.*.keys" shard<0>
  tp.result "new.*" shard<0>
}
// CHECK-LABEL: func.func @patterns(
// CHECK-SAME: tp.name = "caches.0.keys", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "caches.1.keys", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "caches.0.values", tp.pin = {tp = #tp.placement<replicate>}
// CHECK-SAME: tp.name = "caches.0.keys", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "new.0", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "new.1", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: {tp.name = "other"}
func.func @patterns(%a: tensor<4x6xf32> {tp.name = "caches.0.keys", tp.kind = "user_input"},
    %b: tensor<4x6xf32> {tp.name = "caches.1.keys", tp.kind = "user_input"},
    %c: tensor<4x6xf32> {tp.name = "caches.0.values", tp.kind = "user_input"},
    %m: tensor<4x6xf32> {tp.name = "caches.0.keys", tp.kind = "opt_m"})
    -> (tensor<4x6xf32> {tp.name = "new.0"}, tensor<4x6xf32> {tp.name = "new.1"}, tensor<4x6xf32> {tp.name = "other"}) {
  return %a, %b, %c : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Without a table: what the model computes of a buffer once, in the first layer
// that reads it, is not what a later one is called with first.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "b" with prepare_module_input {input_layouts = [shard<0>, none], desired_input_layouts = [replicate, none]}
}
// CHECK-LABEL: func.func @shared_cosines(
// CHECK: %[[FIRST:.*]] = linalg.mul
// CHECK: %[[FROM:.*]] = tp.constrain %[[FIRST]] on "tp" of #mesh to shard<0> view [4, 6] at "b" "input"
// CHECK: %[[TO:.*]] = tp.constrain %[[FROM]] on "tp" of #mesh to replicate view [4, 6] at "b" "input"
// CHECK: linalg.add ins(%[[TO]], %{{.*}} :
func.func @shared_cosines(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"},
                          %angles: tensor<4x6xf32> {tp.name = "angles", tp.kind = "buffer"}) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %cos = linalg.exp ins(%angles : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("a"("cos"))
  %y = linalg.mul ins(%x, %cos : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("a"("mul"))
  %z = linalg.add ins(%y, %cos : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("b"("add"))
  return %z : tensor<4x6xf32>
}

// -----

// An input that a module does not read, because an exporter folds the view of a
// buffer or computes once what several modules make of it: replicate goes to
// what the module reads of buffers in its place.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [
    {name = "a", inputs = ["x", "slice"], outputs = ["mul"]}, {name = "b", inputs = ["mul", "slice"], outputs = ["add"]}]} {
  tp.plan @p on #mesh["tp"] {
    tp.parallelize "a" with prepare_module_input {input_layouts = [shard<0>, replicate], desired_input_layouts = [replicate, replicate]}
    tp.parallelize "b" with prepare_module_input {input_layouts = [shard<0>, replicate], desired_input_layouts = [replicate, replicate]}
  }
  // CHECK-LABEL: func.func @folded_buffer(
  // CHECK-DAG: tp.constrain %arg1 on "tp" of #mesh to replicate view [4, 6] at "a" "input 1"
  // CHECK-DAG: tp.constrain %arg0 on "tp" of #mesh to shard<0> view [4, 6] at "a" "input"
  // CHECK: %[[COS:.*]] = linalg.exp
  // CHECK: tp.constrain %[[COS]] on "tp" of #mesh to replicate view [4, 6] at "b" "input 1"
  // CHECK: %[[MUL:.*]] = linalg.mul
  // CHECK: tp.constrain %[[MUL]] on "tp" of #mesh to shard<0> view [4, 6] at "b" "input"
  // CHECK-NOT: "input 1"
  // CHECK: return
  func.func @folded_buffer(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"},
                           %angles: tensor<4x6xf32> {tp.name = "angles", tp.kind = "buffer"}) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %cos = linalg.exp ins(%angles : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("a"("cos"))
    %y = linalg.mul ins(%x, %cos : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("a"("mul"))
    %z = linalg.add ins(%y, %cos : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("b"("add"))
    return %z : tensor<4x6xf32>
  }
}

// -----

// The weight of a convolution has its channels first, under its own name too.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @channels on #mesh["tp"] {
  tp.parallelize "conv.weight" with colwise
  tp.parallelize "next.weight" with rowwise
}
// CHECK-LABEL: func.func @channels(
// CHECK-SAME: tp.name = "conv.weight", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "next.weight", tp.pin = {tp = #tp.placement<shard<1>>}
func.func @channels(%w: tensor<6x4x3xf32> {tp.name = "conv.weight", tp.kind = "parameter"}, %v: tensor<4x6x3xf32> {tp.name = "next.weight", tp.kind = "parameter"}, %x: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %h = linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x4x8xf32>, tensor<6x4x3xf32>) outs(%i : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %f = tensor.empty() : tensor<2x4x4xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %y = linalg.conv_1d_ncw_fcw ins(%h, %v : tensor<2x6x6xf32>, tensor<4x6x3xf32>) outs(%j : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

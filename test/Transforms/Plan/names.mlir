// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file | FileCheck %s

// Patterns have fnmatch's signs, segment by segment. A name that matches no
// module is that of parameters: colwise shards what a weight makes, the second
// of its dimensions from the back, as torch has it, and of a table the columns.

#mesh = #tp.mesh<"dp" = 2, "tp" = 4>
tp.plan @names on #mesh[-1] {
  tp.parallelize "layers.[01].experts.gate_up" with packed_colwise
  tp.parallelize "layers.?.experts.down" with rowwise
  tp.parallelize "layers.[!01].experts.gate_up" with packed_rowwise
  tp.parallelize "layers.*.experts.bias" with colwise
  tp.parallelize "layers.*.experts.down_bias" with packed_rowwise
  tp.parallelize "table.weight" with embedding_colwise
  tp.argument "cache.[0-1]" shard<1>
}
// The other axis has no plan: everything is replicated along it.
// CHECK-LABEL: func.func @names
// CHECK-SAME: "layers.0.experts.gate_up", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<1>>}
// CHECK-SAME: "layers.1.experts.gate_up", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<1>>}
// CHECK-SAME: "layers.2.experts.gate_up", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<2>>}
// CHECK-SAME: "layers.2.experts.down", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<2>>}
// CHECK-SAME: "layers.2.experts.bias", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<0>>}
// CHECK-SAME: "layers.2.experts.down_bias", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<replicate>}
// CHECK-SAME: "table.weight", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<1>>}
// CHECK-SAME: "cache.0", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<1>>}
// CHECK-SAME: "cache.1", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<shard<1>>}
// CHECK-SAME: "cache.2", tp.pin = {dp = #tp.placement<replicate>, tp = #tp.placement<replicate>}
// CHECK-SAME: -> (tensor<8xf32> {tp.pin = {dp = #tp.placement<replicate>}},
func.func @names(
    %a: tensor<2x8x4xf32> {tp.name = "layers.0.experts.gate_up", tp.kind = "parameter"},
    %b: tensor<2x8x4xf32> {tp.name = "layers.1.experts.gate_up", tp.kind = "parameter"},
    %c: tensor<2x8x4xf32> {tp.name = "layers.2.experts.gate_up", tp.kind = "parameter"},
    %d: tensor<2x8x4xf32> {tp.name = "layers.2.experts.down", tp.kind = "parameter"},
    %e: tensor<8xf32> {tp.name = "layers.2.experts.bias", tp.kind = "parameter"},
    %f: tensor<4xf32> {tp.name = "layers.2.experts.down_bias", tp.kind = "parameter"},
    %t: tensor<16x4xf32> {tp.name = "table.weight", tp.kind = "parameter"},
    %k0: tensor<8x4xf32> {tp.name = "cache.0", tp.kind = "user_input"},
    %k1: tensor<8x4xf32> {tp.name = "cache.1", tp.kind = "user_input"},
    %k2: tensor<8x4xf32> {tp.name = "cache.2", tp.kind = "user_input"})
    -> (tensor<8xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<16x4xf32>, tensor<4xf32>)
    attributes {tp.modules = [{name = "layers", class = "ModuleList"}]} {
  return %e, %a, %b, %c, %d, %t, %f : tensor<8xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<16x4xf32>, tensor<4xf32>
}

// -----

// Nothing is done where a mesh lacks the axis of an optional plan.

#mesh = #tp.mesh<"dp" = 2>
tp.plan @tensor on #mesh["tp"] optional {
  tp.argument 0 shard<1>
}
tp.plan @batch on #mesh[0] {
  tp.argument 0 shard<0>
}
// CHECK-LABEL: func.func @optional
// CHECK-SAME: tp.pin = {dp = #tp.placement<shard<0>>}
func.func @optional(%x: tensor<4x6xf32>) -> tensor<4x6xf32> { return %x : tensor<4x6xf32> }

// -----

// The linear layers of an MLP in turn, of torch's first release.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "mlp", class = "Sequential"}, {name = "mlp.0", class = "Linear"}, {name = "mlp.1", class = "ReLU"}, {name = "mlp.2", class = "Linear"}]} {
  tp.plan @pairs on #mesh["tp"] {
    tp.parallelize "mlp" with pairwise_sequence_parallel
  }
  // CHECK-LABEL: func.func @pairs
  // CHECK-SAME: tp.name = "mlp.0.weight", tp.pin = {tp = #tp.placement<shard<1>>}
  // CHECK-SAME: tp.name = "mlp.2.weight", tp.pin = {tp = #tp.placement<shard<0>>}
  // CHECK: tp.constrain %{{.*}} to shard<0> {{.*}} at "mlp.0" "input"
  // CHECK: tp.constrain %{{.*}} to replicate {{.*}} at "mlp.0" "input"
  // CHECK: tp.constrain %{{.*}} to shard<1> {{.*}} at "mlp.0" "output"
  // CHECK: tp.constrain %{{.*}} to shard<0> {{.*}} at "mlp.2" "output"
  func.func @pairs(%w: tensor<4x6xf32> {tp.name = "mlp.0.weight", tp.kind = "parameter"},
                   %v: tensor<6x4xf32> {tp.name = "mlp.2.weight", tp.kind = "parameter"},
                   %x: tensor<8x4xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x6xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
    %h = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x6xf32>) outs(%i : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp.0"("mm"))
    %f = tensor.empty() : tensor<8x4xf32>
    %j = linalg.fill ins(%zero : f32) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = linalg.matmul ins(%h, %v : tensor<8x6xf32>, tensor<6x4xf32>) outs(%j : tensor<8x4xf32>) -> tensor<8x4xf32> loc("mlp.2"("mm_1"))
    return %y : tensor<8x4xf32>
  }
}

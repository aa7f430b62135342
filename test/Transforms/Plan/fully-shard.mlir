// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-partition-pipeline --split-input-file | FileCheck %s --check-prefix=LOCAL

// A parameter is gathered before the forward pass reads it, and for the
// backward pass again, behind views of its own. The optimizer reads the shards.
// The batch is sharded where the plan says nothing of it.

#mesh = #tp.mesh<"dp" = 4>
tp.plan @p on #mesh["dp"] {
  tp.fully_shard "w1"
}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tp.kind = "parameter", tp.name = "w1.weight", tp.pin = {dp = "fully_sharded"}
// CHECK-SAME: tp.kind = "opt_momentum", tp.name = "w1.weight", tp.pin = {dp = "as_parameter"}
// CHECK-SAME: tp.name = "x", tp.pin = {dp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.kind = "new_parameter", tp.name = "w1.weight", tp.pin = {dp = "as_parameter"}
// CHECK: %[[W:.*]] = tp.constrain %arg0 on "dp" of #mesh to replicate view [10, 6] at "w1" "gathered forward weight" {tp.gather = "forward"}
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]]
// CHECK: linalg.matmul ins(%arg2, %[[T]]
// CHECK: %[[W2:.*]] = tp.constrain %arg0 on "dp" of #mesh to replicate view [10, 6] at "w1" "gathered backward weight" {tp.gather = "backward"}
// CHECK: %[[T2:.*]] = linalg.transpose ins(%[[W2]]
// CHECK: %[[T3:.*]] = linalg.transpose ins(%[[T2]]
// CHECK: linalg.matmul ins(%{{.*}}, %[[T3]]
// CHECK: linalg.sub ins(%arg0,

// Chunks of ceil(10 / 4) rows: the last rank has one.
// LOCAL-LABEL: func.func @step(
// LOCAL-SAME: %arg0: tensor<3x6xf32>
// LOCAL-SAME: %arg1: tensor<3x6xf32>
// LOCAL-SAME: %arg2: tensor<2x6xf32>
// LOCAL: tp.all_gather %arg0
// LOCAL: tp.all_gather %arg0
// LOCAL: tp.reduce_scatter
// LOCAL-NOT: tp.all_
func.func @step(%w: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "parameter"},
                %m: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "opt_momentum"},
                %x: tensor<8x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_parameter"},
        tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_momentum"},
        tensor<8x6xf32> {tp.name = "dx", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x10xf32>
  %wt = linalg.transpose ins(%w : tensor<10x6xf32>) outs(%e0 : tensor<6x10xf32>) permutation = [1, 0] loc("w1"("t"))
  %e1 = tensor.empty() : tensor<8x10xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32>
  %y = linalg.matmul ins(%x, %wt : tensor<8x6xf32>, tensor<6x10xf32>) outs(%z1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("w1"("mm"))
  %e2 = tensor.empty() : tensor<8x6xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e4 = tensor.empty() : tensor<10x6xf32>
  %back = linalg.transpose ins(%wt : tensor<6x10xf32>) outs(%e4 : tensor<10x6xf32>) permutation = [1, 0] loc("bwd:w1"("t_1"))
  %dx = linalg.matmul ins(%y, %back : tensor<8x10xf32>, tensor<10x6xf32>) outs(%z2 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:w1"("mm_1"))
  %e3 = tensor.empty() : tensor<10x8xf32>
  %yt = linalg.transpose ins(%y : tensor<8x10xf32>) outs(%e3 : tensor<10x8xf32>) permutation = [1, 0] loc("bwd:w1"("t_2"))
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  %g = linalg.matmul ins(%yt, %x : tensor<10x8xf32>, tensor<8x6xf32>) outs(%z4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("bwd:w1"("mm_2"))
  %m1 = linalg.add ins(%m, %g : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("<optim>.w1.weight"("add"))
  %w1 = linalg.sub ins(%w, %m1 : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  return %w1, %m1, %dx : tensor<10x6xf32>, tensor<10x6xf32>, tensor<8x6xf32>
}

// -----

// What the forward pass has gathered is kept for the backward pass.

#mesh = #tp.mesh<"dp" = 4>
tp.plan @p on #mesh["dp"] {
  tp.fully_shard "" {keep = true}
}
// CHECK-LABEL: func.func @step(
// CHECK: tp.constrain %arg0
// CHECK-NOT: tp.constrain
// LOCAL-LABEL: func.func @step(
// LOCAL: tp.all_gather %arg0
// LOCAL-NOT: tp.all_gather
// LOCAL: tp.reduce_scatter
// LOCAL-NOT: tp.all_
func.func @step(%w: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "parameter"},
                %m: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "opt_momentum"},
                %x: tensor<8x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_parameter"},
        tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_momentum"},
        tensor<8x6xf32> {tp.name = "dx", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x10xf32>
  %wt = linalg.transpose ins(%w : tensor<10x6xf32>) outs(%e0 : tensor<6x10xf32>) permutation = [1, 0] loc("w1"("t"))
  %e1 = tensor.empty() : tensor<8x10xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32>
  %y = linalg.matmul ins(%x, %wt : tensor<8x6xf32>, tensor<6x10xf32>) outs(%z1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("w1"("mm"))
  %e2 = tensor.empty() : tensor<8x6xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e4 = tensor.empty() : tensor<10x6xf32>
  %back = linalg.transpose ins(%wt : tensor<6x10xf32>) outs(%e4 : tensor<10x6xf32>) permutation = [1, 0] loc("bwd:w1"("t_1"))
  %dx = linalg.matmul ins(%y, %back : tensor<8x10xf32>, tensor<10x6xf32>) outs(%z2 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:w1"("mm_1"))
  %e3 = tensor.empty() : tensor<10x8xf32>
  %yt = linalg.transpose ins(%y : tensor<8x10xf32>) outs(%e3 : tensor<10x8xf32>) permutation = [1, 0] loc("bwd:w1"("t_2"))
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  %g = linalg.matmul ins(%yt, %x : tensor<10x8xf32>, tensor<8x6xf32>) outs(%z4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("bwd:w1"("mm_2"))
  %m1 = linalg.add ins(%m, %g : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("<optim>.w1.weight"("add"))
  %w1 = linalg.sub ins(%w, %m1 : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  return %w1, %m1, %dx : tensor<10x6xf32>, tensor<10x6xf32>, tensor<8x6xf32>
}

// -----

// At stage 2 the parameter is whole, and its state is sharded: the gradient is
// scattered, and what the shards become is gathered.

#mesh = #tp.mesh<"dp" = 2>
tp.plan @p on #mesh["dp"] {
  tp.fully_shard "w1" {stage = 2}
}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tp.kind = "parameter", tp.name = "w1.weight", tp.pin = {dp = #tp.placement<replicate>}
// CHECK-SAME: tp.kind = "opt_momentum", tp.name = "w1.weight", tp.pin = {dp = "fully_sharded"}
// CHECK-NOT: tp.constrain
// LOCAL-LABEL: func.func @step(
// LOCAL-SAME: %arg0: tensor<10x6xf32>
// LOCAL-SAME: %arg1: tensor<5x6xf32>
// LOCAL: tp.reduce_scatter
// LOCAL: tp.all_gather
// LOCAL-NOT: tp.all_
func.func @step(%w: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "parameter"},
                %m: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "opt_momentum"},
                %x: tensor<8x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_parameter"},
        tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_momentum"},
        tensor<8x6xf32> {tp.name = "dx", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x10xf32>
  %wt = linalg.transpose ins(%w : tensor<10x6xf32>) outs(%e0 : tensor<6x10xf32>) permutation = [1, 0] loc("w1"("t"))
  %e1 = tensor.empty() : tensor<8x10xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32>
  %y = linalg.matmul ins(%x, %wt : tensor<8x6xf32>, tensor<6x10xf32>) outs(%z1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("w1"("mm"))
  %e2 = tensor.empty() : tensor<8x6xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e4 = tensor.empty() : tensor<10x6xf32>
  %back = linalg.transpose ins(%wt : tensor<6x10xf32>) outs(%e4 : tensor<10x6xf32>) permutation = [1, 0] loc("bwd:w1"("t_1"))
  %dx = linalg.matmul ins(%y, %back : tensor<8x10xf32>, tensor<10x6xf32>) outs(%z2 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:w1"("mm_1"))
  %e3 = tensor.empty() : tensor<10x8xf32>
  %yt = linalg.transpose ins(%y : tensor<8x10xf32>) outs(%e3 : tensor<10x8xf32>) permutation = [1, 0] loc("bwd:w1"("t_2"))
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  %g = linalg.matmul ins(%yt, %x : tensor<10x8xf32>, tensor<8x6xf32>) outs(%z4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("bwd:w1"("mm_2"))
  %m1 = linalg.add ins(%m, %g : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("<optim>.w1.weight"("add"))
  %w1 = linalg.sub ins(%w, %m1 : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  return %w1, %m1, %dx : tensor<10x6xf32>, tensor<10x6xf32>, tensor<8x6xf32>
}

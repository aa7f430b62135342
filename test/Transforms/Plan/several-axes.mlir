// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-partition-pipeline --split-input-file | FileCheck %s --check-prefix=LOCAL

// A plan of two axes shards over both: rows of the weight, and one sum of what
// the four ranks multiply. An entry of a plan for one of the axes goes with it.

#mesh = #tp.mesh<"dp" = 2, "cp" = 2>
tp.plan @p on #mesh["dp", "cp"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
}
tp.plan @more on #mesh["cp"] {
  tp.result 0 replicate
}
tp.plan @rest on #mesh["dp"] {
  tp.result 0 replicate
}
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %arg0: tensor<2x8xf32> {tp.name = "x", tp.pin = {cp = #tp.placement<shard<1>>, dp = #tp.placement<shard<1>>}}
// CHECK-SAME: %arg1: tensor<8x6xf32> {tp.name = "w", tp.pin = {cp = #tp.placement<shard<0>>, dp = #tp.placement<shard<0>>}}
// CHECK-SAME: tp.pin = {cp = #tp.placement<replicate>, dp = #tp.placement<replicate>}
// LOCAL-LABEL: func.func @both(
// LOCAL-SAME: %arg0: tensor<2x2xf32>
// LOCAL-SAME: %arg1: tensor<2x6xf32>
// LOCAL: tp.all_reduce {{.*}}["dp", "cp"]
// LOCAL-NOT: tp.all_
func.func @both(%x: tensor<2x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<2x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x8xf32>, tensor<8x6xf32>) outs(%f : tensor<2x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// An optional plan is for those axes that the mesh has, and auto is for all.

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
tp.plan @p on #mesh["dp", "cp", "tp"] auto optional {
  tp.argument "x" shard<0>
}
// CHECK: module attributes {{.*}}tp.auto = ["dp", "tp"]
// CHECK-LABEL: func.func @optional(
// CHECK-SAME: tp.pin = {dp = #tp.placement<shard<0>>, tp = #tp.placement<shard<0>>}
// LOCAL-LABEL: func.func @optional(
func.func @optional(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// What is fully sharded over two axes is one dimension, the one that four ranks
// share evenly, and one gather brings it together.

#mesh = #tp.mesh<"dp" = 2, "cp" = 2>
tp.plan @p on #mesh["dp", "cp"] {
  tp.fully_shard ""
}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tp.name = "w.weight", tp.pin = {cp = "fully_sharded", dp = "fully_sharded"}
// CHECK-SAME: tp.name = "x", tp.pin = {cp = #tp.placement<shard<0>>, dp = #tp.placement<shard<0>>}
// LOCAL-LABEL: func.func @step(
// LOCAL-SAME: %arg0: tensor<6x2xf32>
// LOCAL-SAME: %arg1: tensor<2x6xf32>
// LOCAL: tp.all_gather %arg0 {{.*}}["dp", "cp"]
// LOCAL-NOT: tp.all_
func.func @step(%w: tensor<6x8xf32> {tp.name = "w.weight", tp.kind = "parameter"},
                %x: tensor<8x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<8x8xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x6xf32>, tensor<6x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32> loc("w"("mm"))
  return %y : tensor<8x8xf32>
}

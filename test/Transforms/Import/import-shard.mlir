// RUN: tp-opt %s --tp-import-shard --split-input-file --mlir-print-debuginfo | FileCheck %s
// RUN: tp-opt %s --tp-import-shard='plan=auto' --split-input-file | FileCheck %s --check-prefix=AUTO
// No op of shard is left.
// AUTO: tp.plan @tp on #{{.*}}["tp"] auto {
// AUTO-NOT: shard.

// Arguments and results are entries of the plan, other values are constrained: for
// all uses, also those before the annotation's own, or for the annotation's alone. An
// annotation that says what is known already says nothing new.

// CHECK: tp.plan @tp on #[[M:.*]]["tp"] {
// CHECK-NEXT: tp.argument 0 shard<0> loc(#[[X:.*]])
// CHECK-NEXT: tp.argument 1 replicate
// CHECK-NEXT: tp.result 0 shard<1>
// CHECK-NEXT: tp.result 2 replicate
// CHECK-NEXT: }
// CHECK: func.func @main(%[[A:.*]]: tensor<4x6xf32> {tp.name = "x"}{{.*}}, %[[B:.*]]: tensor<4x6xf32>{{.*}}, %[[C:.*]]: tensor<4x6xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[PIN:.*]] = tp.constrain %[[SUM]] on "tp" of #[[M]] to shard<0> view [4, 6] at "main" "annotation" : tensor<4x6xf32> loc(#[[Y:.*]])
// CHECK-NEXT: %[[FOR:.*]] = tp.constrain %[[PIN]] on "tp" of #[[M]] to shard<1> view [4, 6] at "main" "annotation"
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[FOR]]
// CHECK-NEXT: %[[ABS:.*]] = math.absf %[[PIN]]
// CHECK-NEXT: %[[NEG:.*]] = arith.negf %[[PIN]]
// CHECK-NEXT: %[[MUL:.*]] = arith.mulf %[[NEG]], %[[C]]
// CHECK-NEXT: return %[[EXP]], %[[ABS]], %[[MUL]]
// The locations are those of the annotations.
// CHECK-DAG: #[[X]] = loc("{{.*}}import-shard.mlir":34:8)
// CHECK-DAG: #[[Y]] = loc("{{.*}}import-shard.mlir":38:8)
shard.grid @tp(shape = 2)
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}, %b: tensor<4x6xf32>, %c: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %rows = shard.sharding @tp split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @tp split_axes = [[], [0]] : !shard.sharding
  %whole = shard.sharding @tp split_axes = [[]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<4x6xf32>
  %1 = shard.shard %0 to %rows annotate_for_users : tensor<4x6xf32>
  %2 = shard.shard %b to %whole annotate_for_users : tensor<4x6xf32>
  %3 = arith.addf %1, %2 : tensor<4x6xf32>
  %4 = shard.shard %3 to %rows : tensor<4x6xf32>
  %5 = shard.shard %4 to %columns annotate_for_users : tensor<4x6xf32>
  %6 = math.exp %5 : tensor<4x6xf32>
  %7 = shard.shard %6 to %columns annotate_for_users : tensor<4x6xf32>
  %8 = math.absf %3 : tensor<4x6xf32>
  %9 = arith.negf %4 : tensor<4x6xf32>
  %10 = arith.mulf %9, %c : tensor<4x6xf32>
  %11 = shard.shard %10 to %whole annotate_for_users : tensor<4x6xf32>
  return %7, %8, %11 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Axes of several get numbers, and a plan each. One dimension may be split along
// several. Uses that differ say nothing of the argument itself, neither of %b nor of
// %c.

// CHECK: #[[M2:.*]] = #tp.mesh<"g_0" = 2, "g_1" = 3>
// CHECK: tp.plan @g on #[[M2]]["g_0"] {
// CHECK-NEXT: tp.argument 0 shard<0>
// CHECK-NEXT: tp.result 0 shard<0>
// CHECK-NEXT: }
// CHECK: tp.plan @g on #[[M2]]["g_1"] {
// CHECK-NEXT: tp.argument 0 shard<0>
// CHECK-NEXT: tp.result 0 replicate
// CHECK-NEXT: }
// CHECK: func.func @main(%[[A:[a-z0-9]*]]: tensor<12x6xf32>{{.*}}, %[[B:[a-z0-9]*]]: tensor<12x6xf32>{{.*}}, %[[C:[a-z0-9]*]]: tensor<12x6xf32>
// CHECK: %[[B1:.*]] = tp.constrain %[[B]] on "g_0" of #[[M2]] to shard<0> view [12, 6]
// CHECK-NEXT: %[[B2:.*]] = tp.constrain %[[B1]] on "g_1" of #[[M2]] to replicate view [12, 6]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B2]]
// CHECK: arith.addf %[[SUM]], %[[B]]
// CHECK: tp.constrain %[[C]] on "g_0" of #[[M2]] to shard<0>
// CHECK: tp.constrain %[[C]] on "g_0" of #[[M2]] to replicate
shard.grid @g(shape = 2x3)
func.func @main(%a: tensor<12x6xf32>, %b: tensor<12x6xf32>, %c: tensor<12x6xf32>) -> tensor<12x6xf32> {
  %both = shard.sharding @g split_axes = [[0, 1], []] : !shard.sharding
  %one = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 6, 12] : !shard.sharding
  %0 = shard.shard %a to %both : tensor<12x6xf32>
  %1 = shard.shard %b to %one annotate_for_users : tensor<12x6xf32>
  %2 = arith.addf %0, %1 : tensor<12x6xf32>
  %3 = arith.addf %2, %b : tensor<12x6xf32>
  %whole = shard.sharding @g split_axes = [[]] : !shard.sharding
  %5 = shard.shard %c to %one annotate_for_users : tensor<12x6xf32>
  %6 = shard.shard %c to %whole annotate_for_users : tensor<12x6xf32>
  %7 = arith.mulf %5, %6 : tensor<12x6xf32>
  %8 = arith.addf %3, %7 : tensor<12x6xf32>
  %9 = shard.shard %8 to %one : tensor<12x6xf32>
  return %9 : tensor<12x6xf32>
}

// -----

// Constants, an op of several results, and chunks of ceil(8 / 3).

// CHECK: tp.plan @g
// CHECK: %[[C:.*]] = arith.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[CS:.*]] = tp.constrain %[[C]] on "g" of #{{.*}} to shard<0> view [8]
// CHECK: %[[TWO:.*]]:2 = linalg.generic {{.*}} ins(%[[CS]] :
// CHECK: tp.constrain %[[TWO]]#1 on "g" of #{{.*}} to shard<0> view [8]
// CHECK: tp.constrain %[[TWO]]#0 on "g" of #{{.*}} to replicate view [8]
#id = affine_map<(d0) -> (d0)>
shard.grid @g(shape = 3)
func.func @main() -> (tensor<8xf32>, tensor<8xf32>) {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 3, 6, 8] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %c = arith.constant dense<1.0> : tensor<8xf32>
  %0 = shard.shard %c to %s : tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %1:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e, %e : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%x: f32, %p: f32, %q: f32):
    %a = math.exp %x : f32
    %b = math.sin %x : f32
    linalg.yield %a, %b : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  %2 = shard.shard %1#0 to %r : tensor<8xf32>
  %3 = shard.shard %1#1 to %s : tensor<8xf32>
  %4 = arith.addf %2, %3 : tensor<8xf32>
  return %4, %3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Ports of a function that is called are values of the program.

// CHECK: tp.plan @g on #{{.*}}["g"] {
// CHECK-NEXT: tp.argument 0 shard<0>
// CHECK-NEXT: }
// CHECK: func.func private @inner(%[[A:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[P:.*]] = tp.constrain %[[A]] {{.*}} to replicate view [4] at "inner" "annotation"
// CHECK-NEXT: %[[E:.*]] = math.exp %[[P]]
// CHECK-NEXT: %[[R:.*]] = tp.constrain %[[E]] {{.*}} to shard<0> view [4]
// CHECK-NEXT: return %[[R]]
shard.grid @g(shape = 2)
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  %0 = shard.shard %a to %r : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = shard.shard %1 to %s annotate_for_users : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [0, 0] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<4xf32>
  %1 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A module without a grid stays as it is.

// CHECK: module
// CHECK: func.func @main(%[[A:.*]]: tensor<4xf32>{{.*}}) -> tensor<4xf32> {
// CHECK-NEXT: return %[[A]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// RUN: tp-opt %s --tp-materialize --tp-verify-materialized | FileCheck %s

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#P = #tp.layout<#mesh, [partial<sum>]>
#split0 = #tp.strategy<#mesh, [split<0>]>
#split1 = #tp.strategy<#mesh, [split<1>]>
#split2 = #tp.strategy<#mesh, [split<2>]>
#whole = #tp.strategy<#mesh, [replicate]>
#free = #tp.strategy<#mesh, [passthrough<sum, []>]>

// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: %[[X:.*]]: tensor<16x8xf32, #tp.layout<#mesh, [replicate]>>
// CHECK-SAME: %[[W1:[^:]*]]: tensor<8x32xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-SAME: %[[W2:[^:]*]]: tensor<32x8xf32, #tp.layout<#mesh, [shard<0>]>>
// CHECK-SAME: -> (tensor<16x8xf32, #tp.layout<#mesh, [replicate]>>
module attributes {tp.mesh = #mesh} {
  func.func @mlp(%x: tensor<16x8xf32> {tp.layout = #R}, %w1: tensor<8x32xf32> {tp.layout = #S1},
                 %w2: tensor<32x8xf32> {tp.layout = #S0}) -> (tensor<16x8xf32> {tp.layout = #R}) {
    %zero = arith.constant 0.0 : f32
    %e1 = tensor.empty() {tp.strategy = #split1, tp.result_layouts = [#S1]} : tensor<16x32xf32>
    %f1 = linalg.fill {tp.strategy = #split1, tp.result_layouts = [#S1]} ins(%zero : f32) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    // CHECK: %[[H:.*]] = linalg.matmul {tp.{{.*}}} ins(%[[X]], %[[W1]] :{{.*}} -> tensor<16x32xf32, #tp.layout<#mesh, [shard<1>]>>
    %h = linalg.matmul {tp.strategy = #split1, tp.result_layouts = [#S1]} ins(%x, %w1 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e2 = tensor.empty() {tp.strategy = #free, tp.result_layouts = [#P]} : tensor<16x8xf32>
    %f2 = linalg.fill {tp.strategy = #free, tp.result_layouts = [#P]} ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    // CHECK: %[[P:.*]] = linalg.matmul {{.*}} ins(%[[H]], %[[W2]] :{{.*}} -> tensor<16x8xf32, #tp.layout<#mesh, [partial<sum>]>>
    %p = linalg.matmul {tp.strategy = #split2, tp.result_layouts = [#P]} ins(%h, %w2 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    // The pin is gone; two uses share one change, and the shard is cut from it.
    // CHECK: %[[Y:.*]] = tp.redistribute %[[P]] {tp.reason = "[replicate] pinned as output of mlp.w2 by {{.*}}materialize.mlir:{{[0-9:]*}}"{{.*}} to tensor<16x8xf32, #tp.layout<#mesh, [replicate]>>
    // CHECK-NOT: tp.constrain
    %y = tp.constrain %p on "tp" of #mesh to replicate view [16, 8] at "mlp.w2" "output" {tp.result_layouts = [#R]} : tensor<16x8xf32>
    %e3 = tensor.empty() {tp.strategy = #whole, tp.result_layouts = [#R]} : tensor<16x8xf32>
    // CHECK: linalg.exp {{.*}} ins(%[[Y]] :
    %z = linalg.exp {tp.strategy = #whole, tp.result_layouts = [#R]} ins(%y : tensor<16x8xf32>) outs(%e3 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %e4 = tensor.empty() {tp.strategy = #split0, tp.result_layouts = [#S0]} : tensor<16x8xf32>
    // CHECK: %[[CUT:.*]] = tp.redistribute %[[Y]] {{.*}} [replicate]>> to tensor<16x8xf32, #tp.layout<#mesh, [shard<0>]>>
    // CHECK: %[[Q:.*]] = linalg.exp {{.*}} ins(%[[CUT]] :
    %q = linalg.exp {tp.strategy = #split0, tp.result_layouts = [#S0]} ins(%y : tensor<16x8xf32>) outs(%e4 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %e5 = tensor.empty() {tp.strategy = #whole, tp.result_layouts = [#R]} : tensor<16x8xf32>
    // CHECK: %[[G:.*]] = tp.redistribute %[[Q]]
    // CHECK: linalg.add {{.*}} ins(%{{.*}}, %[[G]] :
    %s = linalg.add {tp.strategy = #whole, tp.result_layouts = [#R]} ins(%z, %q : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e5 : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %s : tensor<16x8xf32>
  }

  // One reduction; the second shard comes from the first.
  // CHECK-LABEL: func.func @reduced_once(
  // CHECK: %[[FIRST:.*]] = tp.redistribute %arg0 {{.*}} to tensor<16x8xf32, #tp.layout<#mesh, [shard<0>]>>
  // CHECK: %[[SECOND:.*]] = tp.redistribute %[[FIRST]] {{.*}} to tensor<16x8xf32, #tp.layout<#mesh, [shard<1>]>>
  // CHECK: return %[[FIRST]], %[[SECOND]]
  func.func @reduced_once(%p: tensor<16x8xf32> {tp.layout = #P}) -> (tensor<16x8xf32> {tp.layout = #S0}, tensor<16x8xf32> {tp.layout = #S1}) {
    return %p, %p : tensor<16x8xf32>, tensor<16x8xf32>
  }

  // A sum is reduced where it is made, not where it is used: no rank holds all of it
  // until then.
  // CHECK-LABEL: func.func @reduced_where_made(
  // CHECK: %[[P:.*]] = linalg.matmul
  // CHECK-NEXT: %[[SUM:.*]] = tp.redistribute %[[P]] {{.*}} to tensor<16x8xf32, #tp.layout<#mesh, [shard<0>]>>
  // CHECK: %[[OTHER:.*]] = linalg.exp
  // CHECK: linalg.exp {{.*}} ins(%[[SUM]] :
  func.func @reduced_where_made(%h: tensor<16x32xf32> {tp.layout = #S1}, %w: tensor<32x8xf32> {tp.layout = #S0})
      -> (tensor<16x32xf32> {tp.layout = #S1}, tensor<16x8xf32> {tp.layout = #S0}) {
    %zero = arith.constant 0.0 : f32
    %e2 = tensor.empty() {tp.strategy = #free, tp.result_layouts = [#P]} : tensor<16x8xf32>
    %f2 = linalg.fill {tp.strategy = #free, tp.result_layouts = [#P]} ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %p = linalg.matmul {tp.strategy = #split2, tp.result_layouts = [#P]} ins(%h, %w : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %e1 = tensor.empty() {tp.strategy = #split1, tp.result_layouts = [#S1]} : tensor<16x32xf32>
    %o = linalg.exp {tp.strategy = #split1, tp.result_layouts = [#S1]} ins(%h : tensor<16x32xf32>) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e0 = tensor.empty() {tp.strategy = #split0, tp.result_layouts = [#S0]} : tensor<16x8xf32>
    %u = linalg.exp {tp.strategy = #split0, tp.result_layouts = [#S0]} ins(%p : tensor<16x8xf32>) outs(%e0 : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %o, %u : tensor<16x32xf32>, tensor<16x8xf32>
  }

  // Gathered for a pin, and only cut again: nothing is sent.
  // CHECK-LABEL: func.func @gathered_and_cut(
  // CHECK-NOT: tp.redistribute
  // CHECK: linalg.exp {{.*}} ins(%arg0 :
  // CHECK-NOT: tp.redistribute
  // CHECK: return
  func.func @gathered_and_cut(%x: tensor<16x8xf32> {tp.layout = #S0}) -> (tensor<16x8xf32> {tp.layout = #S0}) {
    %y = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "mlp" "output" {tp.result_layouts = [#R]} : tensor<16x8xf32>
    %e = tensor.empty() {tp.strategy = #split0, tp.result_layouts = [#S0]} : tensor<16x8xf32>
    %z = linalg.exp {tp.strategy = #split0, tp.result_layouts = [#S0]} ins(%y : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %z : tensor<16x8xf32>
  }

  // Scattered by one pin and gathered by the next: one change, the last one's.
  // CHECK-LABEL: func.func @scattered_and_gathered(
  // CHECK-NEXT: %[[Y:.*]] = tp.redistribute %arg0 {{.*}}[replicate] pinned as input of head by {{.*}}[partial<sum>]>> to {{.*}}[replicate]>>
  // CHECK-NEXT: return %[[Y]]
  func.func @scattered_and_gathered(%p: tensor<16x8xf32> {tp.layout = #P}) -> (tensor<16x8xf32> {tp.layout = #R}) {
    %y = tp.constrain %p on "tp" of #mesh to shard<0> view [16, 8] at "mlp" "output" {tp.result_layouts = [#S0]} : tensor<16x8xf32>
    %z = tp.constrain %y on "tp" of #mesh to replicate view [16, 8] at "head" "input" {tp.result_layouts = [#R]} : tensor<16x8xf32>
    return %z : tensor<16x8xf32>
  }

  // Somebody sees what lies between.
  // CHECK-LABEL: func.func @seen_between(
  // CHECK: %[[Y:.*]] = tp.redistribute %arg0
  // CHECK: %[[Z:.*]] = tp.redistribute %[[Y]]
  // CHECK: return %[[Y]], %[[Z]]
  func.func @seen_between(%p: tensor<16x8xf32> {tp.layout = #P}) -> (tensor<16x8xf32> {tp.layout = #S0}, tensor<16x8xf32> {tp.layout = #R}) {
    %y = tp.constrain %p on "tp" of #mesh to shard<0> view [16, 8] at "mlp" "output" {tp.result_layouts = [#S0]} : tensor<16x8xf32>
    %z = tp.constrain %y on "tp" of #mesh to replicate view [16, 8] at "head" "input" {tp.result_layouts = [#R]} : tensor<16x8xf32>
    return %y, %z : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

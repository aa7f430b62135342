// RUN: tp-opt %s --tp-propagate=no-implicit-collectives | FileCheck %s

// The cheapest program gathers %x once: a pin asks for the copy, and exp uses it too. No collective
// of this program is implicit, so it is not replaced by one that gathers the result of exp as well.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}, tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %a = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "a" "input" : tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    // CHECK: linalg.generic {{.*}} ins(%arg0 : {{.*}}tp.strategy = #tp.strategy<#mesh, [replicate]>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<16x8xf32>
    return %a, %y : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

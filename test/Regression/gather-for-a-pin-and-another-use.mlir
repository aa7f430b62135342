// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s

// A plan gathers the module's input. The gradient of the weight, which reads
// the argument itself, uses what was gathered: when the gather counted twice,
// tp exchanged %g and reduced the gradient instead.

#mesh = #tp.mesh<"tp" = 2>
#ki = affine_map<(i, j, k) -> (k, i)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>

// CHECK: func.func @main
// CHECK-NOT: tp.all_to_all
// CHECK-COUNT-1: tp.all_gather
// CHECK-NOT: tp.all_to_all
// CHECK-NOT: tp.all_gather
// CHECK-NOT: tp.reduce_scatter
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<512x16xf32> {tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}},
                  %w: tensor<16x16xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %g: tensor<512x16xf32> {tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<1>>}})
      -> (tensor<512x16xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, tensor<16x16xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) {
    %zero = arith.constant 0.0 : f32
    %outer = tp.constrain %x on "tp" of #mesh to shard<0> view [512, 16] at "layer" "input" {tp.expected} : tensor<512x16xf32>
    %inner = tp.constrain %outer on "tp" of #mesh to replicate view [512, 16] at "layer" "input" : tensor<512x16xf32>
    %e0 = tensor.empty() : tensor<512x16xf32>
    %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<512x16xf32>) -> tensor<512x16xf32>
    %y = linalg.matmul ins(%inner, %w : tensor<512x16xf32>, tensor<16x16xf32>) outs(%f0 : tensor<512x16xf32>) -> tensor<512x16xf32>
    %e1 = tensor.empty() : tensor<16x16xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %dw = linalg.generic {indexing_maps = [#ki, #kj, #ij],
                          iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %g : tensor<512x16xf32>, tensor<512x16xf32>) outs(%f1 : tensor<16x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %product = arith.mulf %a, %b : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<16x16xf32>
    return %y, %dw : tensor<512x16xf32>, tensor<16x16xf32>
  }
}

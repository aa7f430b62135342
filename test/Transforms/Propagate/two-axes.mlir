// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s

// Batch over dp, features over tp.

#mesh = #tp.mesh<"dp" = 2, "tp" = 4>

// CHECK: -> (tensor<16x8xf32> {tp.layout = #tp.layout<#mesh, [shard<0>, replicate]>
// CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [shard<0>, shard<1>]>], tp.strategy = #tp.strategy<#mesh, [split<0>, split<1>]>}
// CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [shard<0>, partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<0>, split<2>]>}
// CHECK: tp.constrain {{.*}}[shard<0>, replicate]
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {dp = #tp.placement<shard<0>>}},
                  %w1: tensor<8x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w2: tensor<32x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<16x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e1 = tensor.empty() : tensor<16x32xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %h = linalg.matmul ins(%x, %w1 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e2 = tensor.empty() : tensor<16x8xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %p = linalg.matmul ins(%h, %w2 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %y = tp.constrain %p on "tp" of #mesh to replicate view [16, 8] lazy at "mlp.w2" "output" : tensor<16x8xf32>
    return %y : tensor<16x8xf32>
  }
}

// RUN: tp-opt %s --tp-propagate=auto-parameters --tp-verify-assignment | FileCheck %s --check-prefix=AUTO
// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s

// A parameter without a pin is replicated, and may choose under
// auto-parameters.

#mesh = #tp.mesh<"tp" = 4>

// AUTO: tensor<8x32xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [shard<1>]>}
// CHECK: tensor<8x32xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [replicate]>}
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input"}, %w: tensor<8x32xf32> {tp.kind = "parameter"}) -> (tensor<16x32xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
    return %a : tensor<16x32xf32>
  }
}

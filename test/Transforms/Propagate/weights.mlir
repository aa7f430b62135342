// RUN: tp-opt %s -split-input-file --tp-propagate --tp-verify-assignment | FileCheck %s

// Gathering the small weight would send fewer bytes than reducing the large
// result; weights still keep the layout they are stored in.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<2>]>}
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<1024x8xf32> {tp.kind = "user_input"},
                  %w: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<1024x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1024x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x8xf32>) -> tensor<1024x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<1024x8xf32>, tensor<8x8xf32>) outs(%f : tensor<1024x8xf32>) -> tensor<1024x8xf32>
    return %a : tensor<1024x8xf32>
  }
}

// -----

// Parameters without a pin: nothing is sent for the sake of splitting work, but
// where a result has to be sharded the work is split too.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK: linalg.matmul {{.*}}[replicate]
// CHECK: linalg.matmul {{.*}}[split<0>]
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input"}, %w: tensor<8x8xf32> {tp.kind = "parameter"})
      -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}, tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%a, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %a, %b : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

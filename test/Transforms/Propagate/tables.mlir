// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s

// What comes from constants and buffers alone is computed by all ranks in full
// where its uses differ.

#mesh = #tp.mesh<"tp" = 2>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: @main
// CHECK: linalg.exp {tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>} ins(%arg0
// CHECK: linalg.add {{.*}}tp.strategy = #tp.strategy<#mesh, [split<0>]>
// CHECK: linalg.add {{.*}}tp.strategy = #tp.strategy<#mesh, [split<1>]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%cos: tensor<4x8xf32> {tp.kind = "buffer"}, %x: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}},
                  %y: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %e = tensor.empty() : tensor<4x8xf32>
    %t = linalg.exp ins(%cos : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = linalg.add ins(%x, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %b = linalg.add ins(%y, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// RUN: tp-opt %s --split-input-file --tp-apply-plan | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-apply-plan --tp-normalize --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=LAYOUT

// Nothing pins a cache that the step updates: tp-propagate chooses its layout, and that of its next
// value is equal. Here the weight's shards decide it.

#mesh = #tp.mesh<"tp" = 2>
module {
  tp.plan @step on #mesh["tp"] {
    tp.argument "w" shard<1>
    tp.result "y" shard<1>
  }
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: tp.name = "cache", tp.pin = {tp = "any"}
  // CHECK-SAME: tp.name = "next", tp.pin = {tp = "as_parameter"}, tp.updates = "cache"
  // LAYOUT-LABEL: func.func @step
  // LAYOUT-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "cache"
  // LAYOUT-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "next"
  func.func @step(%x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                  %w: tensor<8x6xf32> {tp.name = "w", tp.kind = "parameter"},
                  %cache: tensor<4x6xf32> {tp.name = "cache", tp.kind = "buffer"})
      -> (tensor<4x6xf32> {tp.name = "y"},
          tensor<4x6xf32> {tp.name = "next", tp.updates = "cache"}) {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4x6xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
    %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>)
                       outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    %next = linalg.add ins(%y, %cache : tensor<4x6xf32>, tensor<4x6xf32>)
                       outs(%empty : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %y, %next : tensor<4x6xf32>, tensor<4x6xf32>
  }
}

// -----

// A plan that names the cache decides, also for its next value.

#mesh = #tp.mesh<"tp" = 2>
module {
  tp.plan @step on #mesh["tp"] {
    tp.argument "cache" shard<0>
  }
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: tp.name = "cache", tp.pin = {tp = #tp.placement<shard<0>>}
  // CHECK-SAME: tp.kind = "new_user_input", tp.name = "cache", tp.pin = {tp = #tp.placement<shard<0>>}
  func.func @step(%cache: tensor<4x6xf32> {tp.name = "cache", tp.kind = "user_input"})
      -> (tensor<4x6xf32> {tp.name = "cache", tp.kind = "new_user_input"}) {
    return %cache : tensor<4x6xf32>
  }
}

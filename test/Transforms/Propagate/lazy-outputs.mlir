// RUN: tp-opt %s -split-input-file --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s
// RUN: tp-opt %s -split-input-file --tp-propagate=allow-split-all-reduce --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=SPLIT

// A lazily replicated partial whose uses want shards is still reduced by one
// all_reduce; allow-split-all-reduce makes that a reduce_scatter.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK: tp.all_reduce
// CHECK: tp.local_slice
// CHECK-NOT: tp.reduce_scatter
// SPLIT-LABEL: @main
// SPLIT-NOT: tp.all_reduce
// SPLIT: tp.reduce_scatter

module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>,
                  %w: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %y = tp.constrain %a on "tp" of #mesh to replicate view [16, 8] lazy at "w" "output" : tensor<16x8xf32>
    return %y : tensor<16x8xf32>
  }
}

// -----

// A partial that nothing pins becomes a shard directly.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK-NOT: tp.all_reduce
// CHECK: tp.reduce_scatter
// SPLIT-LABEL: @main

module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>,
                  %w: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %a : tensor<16x8xf32>
  }
}

// -----

// A result without a pin is whatever costs least, but never partial; a colwise
// result stays sharded.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK-SAME: -> (tensor<16x8xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-NOT: tp.all_
// SPLIT-LABEL: @main

module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>,
                  %w: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<16x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %a : tensor<16x8xf32>
  }
}

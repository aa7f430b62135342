// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=LAZY

// Attention and MLP side by side: both outputs are lazily replicated, so their
// sum travels on as a partial and is reduced once, with the residual added on
// one rank.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-COUNT-1: tp.all_reduce sum
// CHECK-NOT: tp.all_
// CHECK-NOT: tp.reduce_scatter

// LAZY-COUNT-2: tp.constrain {{.*}}tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [passthrough<sum, [0]>]>

module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>,
                  %wa: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                  %wb: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %wa : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%x, %wb : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %ya = tp.constrain %a on "tp" of #mesh to replicate view [16, 8] lazy at "attention.wo" "output" : tensor<16x8xf32>
    %yb = tp.constrain %b on "tp" of #mesh to replicate view [16, 8] lazy at "feed_forward.w2" "output" : tensor<16x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %ya : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x8xf32>
    %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %yb : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x8xf32>
    return %t : tensor<16x8xf32>
  }
}

// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=COLLECTIVES
// RUN: tp-opt %s --tp-propagate=remarks --verify-diagnostics

// Colwise then rowwise: one all_reduce, and no other collective. Constants,
// empties and fills follow their uses at no cost.

#mesh = #tp.mesh<"tp" = 4>

// COLLECTIVES: tp.all_reduce
// COLLECTIVES-NOT: tp.all_
// COLLECTIVES-NOT: tp.reduce_scatter

module attributes {tp.mesh = #mesh} {
  // CHECK: func.func @main(%{{.*}}: tensor<16x8xf32> {tp.kind = "user_input", tp.layout = #tp.layout<#mesh, [replicate]>},
  // CHECK-SAME: tensor<8x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<1>]>
  // CHECK-SAME: tensor<32x8xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<0>]>
  // CHECK-SAME: tensor<5xf32> {tp.layout = #tp.layout<#mesh, [replicate]>}
  // CHECK-SAME: -> (tensor<16x8xf32> {tp.layout = #tp.layout<#mesh, [replicate]>})
  func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input"},
                  %w1: tensor<8x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w2: tensor<32x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                  %dead: tensor<5xf32>) -> tensor<16x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e1 = tensor.empty() : tensor<16x32xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    // CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [shard<1>]>], tp.strategy = #tp.strategy<#mesh, [split<1>]>}
    %h = linalg.matmul ins(%x, %w1 : tensor<16x8xf32>, tensor<8x32xf32>) outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    // CHECK: linalg.exp {tp.result_layouts = [#tp.layout<#mesh, [shard<1>]>], tp.strategy = #tp.strategy<#mesh, [split<1>]>}
    %a = linalg.exp ins(%h : tensor<16x32xf32>) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e2 = tensor.empty() : tensor<16x8xf32>
    // CHECK: linalg.fill {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>}
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    // CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<2>]>}
    // expected-note@+1 {{the value is made by 'linalg.matmul'}}
    %p = linalg.matmul ins(%a, %w2 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    // CHECK: tp.constrain {{.*}} lazy {{.*}}{tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>}
    // expected-remark@+2 {{output of 'mlp.w2' takes its value from partial<sum> to replicate on axis 'tp' by all_reduce, 768 bytes per rank}}
    // expected-note@+1 {{output of 'mlp.w2' is pinned to replicate}}
    %y = tp.constrain %p on "tp" of #mesh to replicate view [16, 8] lazy at "mlp.w2" "output" : tensor<16x8xf32>
    return %y : tensor<16x8xf32>
  }
}

// RUN: tp-opt %s -split-input-file --tp-propagate --tp-verify-assignment | FileCheck %s

// A replicated bias next to two partial sums: the sums are added first and
// reduced once; the bias is added once, whether before or after.

#mesh = #tp.mesh<"tp" = 2>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: @main
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w: tensor<8x6xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                  %b: tensor<6xf32> {tp.kind = "parameter"}, %c: tensor<6xf32> {tp.kind = "parameter"}) -> (tensor<16x6xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %e = tensor.empty() : tensor<16x6xf32>
    // The accumulator starts with a bias: it is partial, so one rank has it.
    // CHECK: linalg.broadcast
    // CHECK-SAME: tp.result_layouts = [#tp.layout<#mesh, [replicate]>]
    %i = linalg.broadcast ins(%b : tensor<6xf32>) outs(%e : tensor<16x6xf32>) dimensions = [0]
    // CHECK: linalg.matmul {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<2>]>}
    %m = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x6xf32>) outs(%i : tensor<16x6xf32>) -> tensor<16x6xf32>
    %y = tp.constrain %m on "tp" of #mesh to replicate view [16, 6] lazy at "w" "output" : tensor<16x6xf32>
    // CHECK: linalg.generic {{.*}}ins(%{{.*}}, %arg3 {{.*}} attrs = {tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>}
    %z = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %c : tensor<16x6xf32>, tensor<6xf32>) outs(%e : tensor<16x6xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x6xf32>
    return %z : tensor<16x6xf32>
  }
}

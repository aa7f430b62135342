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

// -----

// The norm of a weight is no weight: its parts are added, and the weight is used where it is.

#mesh = #tp.mesh<"tp" = 4>

// CHECK-LABEL: @main
// CHECK-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.pin = {tp = "sharded"}
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]{{.*}}[partial<sum>]
// CHECK: linalg.matmul {{.*}}[partial<sum>]{{.*}}[split<2>]
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<64x8xf32> {tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = "sharded"}}) -> (tensor<64x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %n = tensor.empty() : tensor<8xf32>
    %nf = linalg.fill ins(%zero : f32) outs(%n : tensor<8xf32>) -> tensor<8xf32>
    %norm = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%w : tensor<8x8xf32>) outs(%nf : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %m = tensor.empty() : tensor<8x8xf32>
    %v = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w, %norm : tensor<8x8xf32>, tensor<8xf32>) outs(%m : tensor<8x8xf32>) {
    ^bb0(%in: f32, %by: f32, %out: f32):
      %q = arith.divf %in, %by : f32
      linalg.yield %q : f32
    } -> tensor<8x8xf32>
    %e = tensor.empty() : tensor<64x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x8xf32>) -> tensor<64x8xf32>
    %a = linalg.matmul ins(%x, %v : tensor<64x8xf32>, tensor<8x8xf32>) outs(%f : tensor<64x8xf32>) -> tensor<64x8xf32>
    return %a : tensor<64x8xf32>
  }
}

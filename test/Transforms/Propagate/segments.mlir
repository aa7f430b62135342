// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-materialize --tp-verify-materialized --tp-insert-collectives --tp-partition --tp-verify-partitioned --split-input-file | FileCheck %s --check-prefix=LOCAL

// A packed projection of 4 query, 2 key and 2 value heads of 8: every segment
// is cut by itself, so that the slices are local.

#mesh = #tp.mesh<"tp" = 2>
#x = affine_map<(b, h, d, i) -> (b, i)>
#w = affine_map<(b, h, d, i) -> (h, d, i)>
#o = affine_map<(b, h, d, i) -> (b, h, d)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @unequal
  // CHECK-SAME: %{{.*}}: tensor<64x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<0, segments = [32, 16, 16]>]>
  // CHECK-SAME: -> (tensor<3x4x8xf32> {tp.layout = #tp.layout<#mesh, [shard<1>]>}, tensor<3x2x8xf32> {tp.layout = #tp.layout<#mesh, [shard<1>]>}, tensor<3x2x8xf32> {tp.layout = #tp.layout<#mesh, [shard<1>]>})
  // LOCAL-LABEL: func.func @unequal
  // LOCAL-NOT: tp.all
  func.func @unequal(%x: tensor<3x32xf32>,
                     %w: tensor<64x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<3x4x8xf32>, tensor<3x2x8xf32>, tensor<3x2x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %v = tensor.expand_shape %w [[0, 1], [2]] output_shape [8, 8, 32] : tensor<64x32xf32> into tensor<8x8x32xf32>
    %e = tensor.empty() : tensor<3x8x8xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
    // CHECK: linalg.generic {{.*}}tp.strategy = #tp.strategy<#mesh, [split<1, segments = [4, 2, 2]>]>
    %h = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %v : tensor<3x32xf32>, tensor<8x8x32xf32>) outs(%i : tensor<3x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x8x8xf32>
    // LOCAL: tensor.extract_slice %{{.*}}[0, 0, 0] [3, 2, 8] [1, 1, 1] {{.*}}tensor<3x4x8xf32> to tensor<3x2x8xf32>
    // LOCAL: tensor.extract_slice %{{.*}}[0, 2, 0] [3, 1, 8] [1, 1, 1]
    // LOCAL: tensor.extract_slice %{{.*}}[0, 3, 0] [3, 1, 8] [1, 1, 1]
    %q = tensor.extract_slice %h[0, 0, 0] [3, 4, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<3x4x8xf32>
    %k = tensor.extract_slice %h[0, 4, 0] [3, 2, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<3x2x8xf32>
    %vv = tensor.extract_slice %h[0, 6, 0] [3, 2, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<3x2x8xf32>
    return %q, %k, %vv : tensor<3x4x8xf32>, tensor<3x2x8xf32>, tensor<3x2x8xf32>
  }
}

// -----

// Three equal segments, which tp-normalize makes a dimension of their own, of
// 5 heads each: uneven over 2 ranks, in whole heads.

#mesh = #tp.mesh<"tp" = 2>
#x = affine_map<(b, p, h, d, i) -> (b, i)>
#w = affine_map<(b, p, h, d, i) -> (p, h, d, i)>
#o = affine_map<(b, p, h, d, i) -> (b, p, h, d)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @equal
  // CHECK-SAME: %{{.*}}: tensor<120x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<0, unit = 8, segments = [40, 40, 40]>]>
  // LOCAL-LABEL: func.func @equal
  // LOCAL-SAME: %{{.*}}: tensor<72x32xf32>
  // LOCAL-NOT: tp.all
  func.func @equal(%x: tensor<3x32xf32>,
                   %w: tensor<120x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<3x5x8xf32>, tensor<3x5x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %v = tensor.expand_shape %w [[0, 1, 2], [3]] output_shape [3, 5, 8, 32] : tensor<120x32xf32> into tensor<3x5x8x32xf32>
    %e = tensor.empty() : tensor<3x3x5x8xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<3x3x5x8xf32>) -> tensor<3x3x5x8xf32>
    // CHECK: linalg.generic {{.*}}tp.strategy = #tp.strategy<#mesh, [split<2>]>
    %h = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %v : tensor<3x32xf32>, tensor<3x5x8x32xf32>) outs(%i : tensor<3x3x5x8xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x3x5x8xf32>
    %q = tensor.extract_slice %h[0, 0, 0, 0] [3, 1, 5, 8] [1, 1, 1, 1] : tensor<3x3x5x8xf32> to tensor<3x5x8xf32>
    %k = tensor.extract_slice %h[0, 2, 0, 0] [3, 1, 5, 8] [1, 1, 1, 1] : tensor<3x3x5x8xf32> to tensor<3x5x8xf32>
    return %q, %k : tensor<3x5x8xf32>, tensor<3x5x8xf32>
  }
}

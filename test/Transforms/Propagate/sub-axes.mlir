// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --split-input-file | FileCheck %s

// Of 2 key/value heads on 8 ranks two groups of four get one each; the query
// heads that go with them divide over the ranks of a group.

#mesh = #tp.mesh<"tp" = 8>
#q = affine_map<(b, kv, rep, d, i) -> (b, i)>
#wq = affine_map<(b, kv, rep, d, i) -> (kv, rep, d, i)>
#oq = affine_map<(b, kv, rep, d, i) -> (b, kv, rep, d)>
#k = affine_map<(b, kv, d, i) -> (b, i)>
#wk = affine_map<(b, kv, d, i) -> (kv, d, i)>
#ok = affine_map<(b, kv, d, i) -> (b, kv, d)>
#sq = affine_map<(b, kv, rep, d) -> (b, kv, rep, d)>
#sk = affine_map<(b, kv, rep, d) -> (b, kv, d)>
#so = affine_map<(b, kv, rep, d) -> (b, kv, rep)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @grouped
  // CHECK-SAME: %{{.*}}: tensor<64x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = shard<0>]>
  // CHECK-SAME: %{{.*}}: tensor<16x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  func.func @grouped(%x: tensor<3x32xf32>,
                     %wq: tensor<64x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                     %wk: tensor<16x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<3x2x4xf32> {
    %zero = arith.constant 0.0 : f32
    %vq = tensor.expand_shape %wq [[0, 1, 2], [3]] output_shape [2, 4, 8, 32] : tensor<64x32xf32> into tensor<2x4x8x32xf32>
    %vk = tensor.expand_shape %wk [[0, 1], [2]] output_shape [2, 8, 32] : tensor<16x32xf32> into tensor<2x8x32xf32>
    %eq = tensor.empty() : tensor<3x2x4x8xf32>
    %iq = linalg.fill ins(%zero : f32) outs(%eq : tensor<3x2x4x8xf32>) -> tensor<3x2x4x8xf32>
    // Heads and repetitions are split, each over its sub-axis.
    // CHECK: linalg.generic {{.*}}ins(%{{.*}} : tensor<3x32xf32>, tensor<2x4x8x32xf32>) {{.*}}tp.strategy = #tp.strategy<#mesh, ["tp":1:2 = split<1>, "tp":2:4 = split<2>]>
    %hq = linalg.generic {indexing_maps = [#q, #wq, #oq], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %vq : tensor<3x32xf32>, tensor<2x4x8x32xf32>) outs(%iq : tensor<3x2x4x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x4x8xf32>
    %ek = tensor.empty() : tensor<3x2x8xf32>
    %ik = linalg.fill ins(%zero : f32) outs(%ek : tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    // CHECK: linalg.generic {{.*}}ins(%{{.*}} : tensor<3x32xf32>, tensor<2x8x32xf32>) {{.*}}tp.strategy = #tp.strategy<#mesh, ["tp":1:2 = split<1>, "tp":2:4 = replicate]>
    %hk = linalg.generic {indexing_maps = [#k, #wk, #ok], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %vk : tensor<3x32xf32>, tensor<2x8x32xf32>) outs(%ik : tensor<3x2x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x8xf32>
    %es = tensor.empty() : tensor<3x2x4xf32>
    %is = linalg.fill ins(%zero : f32) outs(%es : tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    %scores = linalg.generic {indexing_maps = [#sq, #sk, #so], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%hq, %hk : tensor<3x2x4x8xf32>, tensor<3x2x8xf32>) outs(%is : tensor<3x2x4xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x4xf32>
    return %scores : tensor<3x2x4xf32>
  }
}

// -----

// The same of kernels whose heads are a dimension, as JAX has them.

#mesh = #tp.mesh<"tp" = 8>
#q = affine_map<(b, kv, rep, d, i) -> (b, i)>
#wq = affine_map<(b, kv, rep, d, i) -> (kv, rep, d, i)>
#oq = affine_map<(b, kv, rep, d, i) -> (b, kv, rep, d)>
#k = affine_map<(b, kv, d, i) -> (b, i)>
#wk = affine_map<(b, kv, d, i) -> (kv, d, i)>
#ok = affine_map<(b, kv, d, i) -> (b, kv, d)>
#sq = affine_map<(b, kv, rep, d) -> (b, kv, rep, d)>
#sk = affine_map<(b, kv, rep, d) -> (b, kv, d)>
#so = affine_map<(b, kv, rep, d) -> (b, kv, rep)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @by_heads
  // CHECK-SAME: %{{.*}}: tensor<8x8x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = shard<0>]>
  // CHECK-SAME: %{{.*}}: tensor<2x8x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  func.func @by_heads(%x: tensor<3x32xf32>,
                      %wq: tensor<8x8x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                      %wk: tensor<2x8x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<3x2x4xf32> {
    %zero = arith.constant 0.0 : f32
    %vq = tensor.expand_shape %wq [[0, 1], [2], [3]] output_shape [2, 4, 8, 32] : tensor<8x8x32xf32> into tensor<2x4x8x32xf32>
    %eq = tensor.empty() : tensor<3x2x4x8xf32>
    %iq = linalg.fill ins(%zero : f32) outs(%eq : tensor<3x2x4x8xf32>) -> tensor<3x2x4x8xf32>
    // Heads and repetitions are split, each over its sub-axis.
    // CHECK: linalg.generic {{.*}}ins(%{{.*}} : tensor<3x32xf32>, tensor<2x4x8x32xf32>) {{.*}}tp.strategy = #tp.strategy<#mesh, ["tp":1:2 = split<1>, "tp":2:4 = split<2>]>
    %hq = linalg.generic {indexing_maps = [#q, #wq, #oq], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %vq : tensor<3x32xf32>, tensor<2x4x8x32xf32>) outs(%iq : tensor<3x2x4x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x4x8xf32>
    %ek = tensor.empty() : tensor<3x2x8xf32>
    %ik = linalg.fill ins(%zero : f32) outs(%ek : tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    // CHECK: linalg.generic {{.*}}ins(%{{.*}} : tensor<3x32xf32>, tensor<2x8x32xf32>) {{.*}}tp.strategy = #tp.strategy<#mesh, ["tp":1:2 = split<1>, "tp":2:4 = replicate]>
    %hk = linalg.generic {indexing_maps = [#k, #wk, #ok], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wk : tensor<3x32xf32>, tensor<2x8x32xf32>) outs(%ik : tensor<3x2x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x8xf32>
    %es = tensor.empty() : tensor<3x2x4xf32>
    %is = linalg.fill ins(%zero : f32) outs(%es : tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    %scores = linalg.generic {indexing_maps = [#sq, #sk, #so], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%hq, %hk : tensor<3x2x4x8xf32>, tensor<3x2x8xf32>) outs(%is : tensor<3x2x4xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x4xf32>
    return %scores : tensor<3x2x4xf32>
  }
}

// -----

// Of 2 heads on 3 ranks whole heads are all that can be had: the last rank has
// none.

#mesh = #tp.mesh<"tp" = 3>
#k = affine_map<(b, kv, d, i) -> (b, i)>
#wk = affine_map<(b, kv, d, i) -> (kv, d, i)>
#ok = affine_map<(b, kv, d, i) -> (b, kv, d)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @empty_rank
  // CHECK-SAME: %{{.*}}: tensor<16x32xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<0, unit = 8>]>
  func.func @empty_rank(%x: tensor<3x32xf32>,
                        %wk: tensor<16x32xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<3x2x8xf32> {
    %zero = arith.constant 0.0 : f32
    %vk = tensor.expand_shape %wk [[0, 1], [2]] output_shape [2, 8, 32] : tensor<16x32xf32> into tensor<2x8x32xf32>
    %ek = tensor.empty() : tensor<3x2x8xf32>
    %ik = linalg.fill ins(%zero : f32) outs(%ek : tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    %hk = linalg.generic {indexing_maps = [#k, #wk, #ok], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %vk : tensor<3x32xf32>, tensor<2x8x32xf32>) outs(%ik : tensor<3x2x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x8xf32>
    return %hk : tensor<3x2x8xf32>
  }
}

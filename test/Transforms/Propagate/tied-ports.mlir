// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-materialize --tp-insert-collectives --tp-simulate --split-input-file -o /dev/null

// Of 2 key/value heads on 8 ranks four share one. The moment of their weight and what
// becomes of both lie as the weight does, though nothing but it has heads.

#mesh = #tp.mesh<"tp" = 8>
#k = affine_map<(b, kv, d, i) -> (b, i)>
#wk = affine_map<(b, kv, d, i) -> (kv, d, i)>
#ok = affine_map<(b, kv, d, i) -> (b, kv, d)>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @shared
  // CHECK-SAME: tp.kind = "parameter", tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  // CHECK-SAME: tp.kind = "opt_exp_avg", tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  // CHECK-SAME: tp.kind = "new_parameter", tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  // CHECK-SAME: tp.kind = "new_exp_avg", tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
  func.func @shared(%x: tensor<3x32xf32> {tp.kind = "user_input", tp.name = "x"},
                    %wk: tensor<16x32xf32> {tp.kind = "parameter", tp.name = "wk", tp.pin = {tp = #tp.placement<shard<0>>}},
                    %m: tensor<16x32xf32> {tp.kind = "opt_exp_avg", tp.name = "wk", tp.pin = {tp = #tp.placement<shard<0>>}})
      -> (tensor<3x2x8xf32> {tp.name = "k"},
          tensor<16x32xf32> {tp.kind = "new_parameter", tp.name = "wk", tp.pin = {tp = #tp.placement<shard<0>>}},
          tensor<16x32xf32> {tp.kind = "new_exp_avg", tp.name = "wk", tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %vk = tensor.expand_shape %wk [[0, 1], [2]] output_shape [2, 8, 32] : tensor<16x32xf32> into tensor<2x8x32xf32>
    %ek = tensor.empty() : tensor<3x2x8xf32>
    %ik = linalg.fill ins(%zero : f32) outs(%ek : tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    %hk = linalg.generic {indexing_maps = [#k, #wk, #ok], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %vk : tensor<3x32xf32>, tensor<2x8x32xf32>) outs(%ik : tensor<3x2x8xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x2x8xf32>
    %em = tensor.empty() : tensor<16x32xf32>
    %newm = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<16x32xf32>) outs(%em : tensor<16x32xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.mulf %a, %two : f32
      linalg.yield %p : f32
    } -> tensor<16x32xf32>
    %neww = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%wk, %newm : tensor<16x32xf32>, tensor<16x32xf32>) outs(%em : tensor<16x32xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.subf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<16x32xf32>
    return %hk, %neww, %newm : tensor<3x2x8xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  }
}

// -----

// A plan that asks for something else of a state gets it.

#mesh = #tp.mesh<"tp" = 2>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @otherwise
  // CHECK-SAME: tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [shard<0>]>
  // CHECK-SAME: tp.kind = "opt_exp_avg", tp.layout = #tp.layout<#mesh, [shard<1>]>
  // CHECK-SAME: tp.kind = "new_parameter", tp.layout = #tp.layout<#mesh, [shard<0>]>
  func.func @otherwise(%w: tensor<4x4xf32> {tp.kind = "parameter", tp.name = "w", tp.pin = {tp = #tp.placement<shard<0>>}},
                       %m: tensor<4x4xf32> {tp.kind = "opt_exp_avg", tp.name = "w", tp.pin = {tp = #tp.placement<shard<1>>}})
      -> (tensor<4x4xf32> {tp.kind = "new_parameter", tp.name = "w", tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %e = tensor.empty() : tensor<4x4xf32>
    %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %m : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.subf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<4x4xf32>
    return %new : tensor<4x4xf32>
  }
}

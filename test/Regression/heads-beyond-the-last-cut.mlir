// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-simulate | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-materialize --tp-insert-collectives --tp-simulate | FileCheck %s --check-prefix=WEIGHTS

// The axis is cut into 2 x 2 x 2 for heads; where no use of a weight goes on on
// the last part, its chunks are cut on. It was refused. Deciding all parts again
// then finds chunks that no use has to convert.

// CHECK: tp.layout = #tp.layout<#mesh, ["tp":1:2 = shard<1, unit = 16>, "tp":2:2 = shard<1, unit = 16>, "tp":4:2 = shard<1, unit = 16>]>, tp.name = "o.weight"
// CHECK: tensor.expand_shape

// WEIGHTS-NOT: tp.all_to_all %arg
// WEIGHTS: tp.all_reduce

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d4, d5)>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1)>
#mesh = #tp.mesh<"tp" = 8>
module attributes {tp.mesh = #mesh} {
  func.func @main(%arg0: tensor<3x32xf32> {tp.kind = "user_input", tp.name = "x", tp.pin = {tp = #tp.placement<replicate>}}, %arg1: tensor<128x32xf32> {tp.kind = "parameter", tp.name = "qkv.weight", tp.pin = {tp = #tp.placement<shard<0>>}}, %arg2: tensor<32x64xf32> {tp.kind = "parameter", tp.name = "o.weight", tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<3x32xf32> {tp.name = "y"}, tensor<3x4x2xf32> {tp.name = "scores"}) {
    %expanded = tensor.expand_shape %arg1 [[0, 1, 2, 3], [4]] output_shape [4, 2, 2, 8, 32] : tensor<128x32xf32> into tensor<4x2x2x8x32xf32>
    %expanded_0 = tensor.expand_shape %arg2 [[0], [1, 2, 3, 4]] output_shape [32, 2, 2, 2, 8] : tensor<32x64xf32> into tensor<32x2x2x2x8xf32>
    %0 = tp.constrain %arg0 on "tp" of #mesh to replicate view [3, 32] at "qkv" "input" : tensor<3x32xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = tensor.empty() : tensor<3x4x2x2x8xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<3x4x2x2x8xf32>) -> tensor<3x4x2x2x8xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%0, %expanded : tensor<3x32xf32>, tensor<4x2x2x8x32xf32>) outs(%2 : tensor<3x4x2x2x8xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %15 = arith.mulf %in, %in_3 : f32
      %16 = arith.addf %out, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<3x4x2x2x8xf32>
    %4 = tp.constrain %3 on "tp" of #mesh to shard<1> view [3, 4, 2, 2, 8] dims [1, 2, 3, 4] at "qkv" "output" : tensor<3x4x2x2x8xf32>
    %extracted_slice = tensor.extract_slice %4[0, 0, 0, 0, 0] [3, 2, 2, 2, 8] [1, 1, 1, 1, 1] : tensor<3x4x2x2x8xf32> to tensor<3x2x2x2x8xf32>
    %extracted_slice_1 = tensor.extract_slice %4[0, 2, 0, 0, 0] [3, 1, 2, 2, 8] [1, 1, 1, 1, 1] : tensor<3x4x2x2x8xf32> to tensor<3x2x2x8xf32>
    %extracted_slice_2 = tensor.extract_slice %4[0, 3, 0, 0, 0] [3, 1, 2, 2, 8] [1, 1, 1, 1, 1] : tensor<3x4x2x2x8xf32> to tensor<3x2x2x8xf32>
    %5 = tensor.empty() : tensor<3x2x2x2xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<3x2x2x2xf32>) -> tensor<3x2x2x2xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%extracted_slice, %extracted_slice_1 : tensor<3x2x2x2x8xf32>, tensor<3x2x2x8xf32>) outs(%6 : tensor<3x2x2x2xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %15 = arith.mulf %in, %in_3 : f32
      %16 = arith.addf %out, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<3x2x2x2xf32>
    %collapsed = tensor.collapse_shape %7 [[0], [1, 2], [3]] : tensor<3x2x2x2xf32> into tensor<3x4x2xf32>
    %8 = tensor.empty() : tensor<3x2x2x2x8xf32>
    %9 = linalg.generic {indexing_maps = [#map5, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %extracted_slice_2 : tensor<3x2x2x2xf32>, tensor<3x2x2x8xf32>) outs(%8 : tensor<3x2x2x2x8xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %15 = arith.mulf %in, %in_3 : f32
      linalg.yield %15 : f32
    } -> tensor<3x2x2x2x8xf32>
    %10 = tp.constrain %9 on "tp" of #mesh to shard<1> view [3, 2, 2, 2, 8] dims [1, 2, 3, 4] at "o" "input" : tensor<3x2x2x2x8xf32>
    %11 = tensor.empty() : tensor<3x32xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<3x32xf32>) -> tensor<3x32xf32>
    %13 = linalg.generic {indexing_maps = [#map6, #map1, #map7], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%10, %expanded_0 : tensor<3x2x2x2x8xf32>, tensor<32x2x2x2x8xf32>) outs(%12 : tensor<3x32xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %15 = arith.mulf %in, %in_3 : f32
      %16 = arith.addf %out, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<3x32xf32>
    %14 = tp.constrain %13 on "tp" of #mesh to replicate view [3, 32] lazy at "o" "output" : tensor<3x32xf32>
    return %14, %collapsed : tensor<3x32xf32>, tensor<3x4x2xf32>
  }
}


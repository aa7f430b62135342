// RUN: tp-opt %s --tp-apply-plan --tp-verify-bound --split-input-file | FileCheck %s

// The product that reads a parameter tells its rows from its columns, where no
// table of torch's modules does: of weights as [in, out] and as [out, in], with
// heads, of experts, and of stacks over layers.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "a.*" with colwise
  tp.parallelize "b.*" with rowwise
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: tp.name = "a.io", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "a.oi", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "a.heads", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "a.stack", tp.pin = {tp = #tp.placement<shard<2>>}
// CHECK-SAME: tp.name = "a.experts", tp.pin = {tp = #tp.placement<shard<2>>}
// CHECK-SAME: tp.name = "b.io", tp.pin = {tp = #tp.placement<shard<0>>}
// CHECK-SAME: tp.name = "b.stack", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "b.experts", tp.pin = {tp = #tp.placement<shard<1>>}
func.func @main(%io: tensor<8x6xf32> {tp.name = "a.io", tp.kind = "parameter"},
                %oi: tensor<6x8xf32> {tp.name = "a.oi", tp.kind = "parameter"},
                %heads: tensor<8x2x3xf32> {tp.name = "a.heads", tp.kind = "parameter"},
                %stack: tensor<3x8x6xf32> {tp.name = "a.stack", tp.kind = "parameter"},
                %experts: tensor<2x8x6xf32> {tp.name = "a.experts", tp.kind = "parameter"},
                %down: tensor<8x6xf32> {tp.name = "b.io", tp.kind = "parameter"},
                %downs: tensor<3x8x6xf32> {tp.name = "b.stack", tp.kind = "parameter"},
                %expertDowns: tensor<2x8x6xf32> {tp.name = "b.experts", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x"}, %xs: tensor<2x4x8xf32> {tp.name = "xs"})
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %ee = tensor.empty() : tensor<2x4x6xf32>
  %ii = linalg.fill ins(%zero : f32) outs(%ee : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %eh = tensor.empty() : tensor<4x2x3xf32>
  %ih = linalg.fill ins(%zero : f32) outs(%eh : tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %y0 = linalg.matmul ins(%x, %io : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %et = tensor.empty() : tensor<8x6xf32>
  %t = linalg.transpose ins(%oi : tensor<6x8xf32>) outs(%et : tensor<8x6xf32>) permutation = [1, 0]
  %y1 = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y2 = linalg.generic {indexing_maps = [affine_map<(b, h, k, d) -> (b, d)>, affine_map<(b, h, k, d) -> (d, h, k)>, affine_map<(b, h, k, d) -> (b, h, k)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %heads : tensor<4x8xf32>, tensor<8x2x3xf32>) outs(%ih : tensor<4x2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x2x3xf32>
  %layer = tensor.extract_slice %stack[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %y3 = linalg.matmul ins(%x, %layer : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y4 = linalg.batch_matmul ins(%xs, %experts : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%ii : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y5 = linalg.matmul ins(%x, %down : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %downLayer = tensor.extract_slice %downs[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %y6 = linalg.matmul ins(%x, %downLayer : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y7 = linalg.batch_matmul ins(%xs, %expertDowns : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%ii : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x4x6xf32>
}

// -----

// With the table of torch's modules they are places, as transformers means
// them; of a stack over layers the product decides all the same. The first
// product of a step is the forward pass's.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "a.*" with colwise
}
// CHECK-LABEL: func.func @torch
// CHECK-SAME: tp.name = "a.experts", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "a.stack", tp.pin = {tp = #tp.placement<shard<2>>}
func.func @torch(%experts: tensor<2x8x6xf32> {tp.name = "a.experts", tp.kind = "parameter"},
                 %stack: tensor<3x8x6xf32> {tp.name = "a.stack", tp.kind = "parameter"},
                 %x: tensor<4x8xf32> {tp.name = "x"}, %g: tensor<4x6xf32> {tp.name = "g"}, %xs: tensor<2x4x8xf32> {tp.name = "xs"})
    -> (tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x8xf32>)
    attributes {tp.modules = [{name = "a", class = "Layers"}]} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %eb = tensor.empty() : tensor<4x8xf32>
  %ib = linalg.fill ins(%zero : f32) outs(%eb : tensor<4x8xf32>) -> tensor<4x8xf32>
  %ee = tensor.empty() : tensor<2x4x6xf32>
  %ii = linalg.fill ins(%zero : f32) outs(%ee : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y0 = linalg.batch_matmul ins(%xs, %experts : tensor<2x4x8xf32>, tensor<2x8x6xf32>) outs(%ii : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %layer = tensor.extract_slice %stack[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %y1 = linalg.matmul ins(%x, %layer : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %et = tensor.empty() : tensor<6x8xf32>
  %t = linalg.transpose ins(%layer : tensor<8x6xf32>) outs(%et : tensor<6x8xf32>) permutation = [1, 0]
  %dx = linalg.matmul ins(%g, %t : tensor<4x6xf32>, tensor<6x8xf32>) outs(%ib : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y0, %y1, %dx : tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x8xf32>
}

// -----

// A step of one token looks up the weights of its experts, one of several
// multiplies by all of them: the entries agree.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "a.up" with colwise
  tp.parallelize "a.down" with rowwise
}
// CHECK-LABEL: func.func @decode
// CHECK-SAME: tp.name = "a.up", tp.pin = {tp = #tp.placement<shard<1>>}
// CHECK-SAME: tp.name = "a.down", tp.pin = {tp = #tp.placement<shard<2>>}
func.func @decode(%up: tensor<4x6x8xf32> {tp.name = "a.up", tp.kind = "parameter"},
                  %down: tensor<4x8x6xf32> {tp.name = "a.down", tp.kind = "parameter"},
                  %expert: tensor<3xindex> {tp.name = "expert"}) -> (tensor<3x6x8xf32>, tensor<3x8x6xf32>)
    attributes {tp.modules = [{name = "a", class = "Experts"}]} {
  %eu = tensor.empty() : tensor<3x6x8xf32>
  %y0 = linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (n)>, affine_map<(n, i, j) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expert : tensor<3xindex>) outs(%eu : tensor<3x6x8xf32>) {
  ^bb0(%n: index, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %v = tensor.extract %up[%n, %i, %j] : tensor<4x6x8xf32>
    linalg.yield %v : f32
  } -> tensor<3x6x8xf32>
  %ed = tensor.empty() : tensor<3x8x6xf32>
  %y1 = linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (n)>, affine_map<(n, i, j) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expert : tensor<3xindex>) outs(%ed : tensor<3x8x6xf32>) {
  ^bb0(%n: index, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %v = tensor.extract %down[%n, %i, %j] : tensor<4x8x6xf32>
    linalg.yield %v : f32
  } -> tensor<3x8x6xf32>
  return %y0, %y1 : tensor<3x6x8xf32>, tensor<3x8x6xf32>
}

// RUN: tp-opt %s -split-input-file --tp-propagate=explain --tp-materialize | FileCheck %s

// A row-parallel layer with a bias: its entry asks for the all_reduce, though the sum is
// reduced before the bias is added.

#mesh = #tp.mesh<"tp" = 2>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @asked
// CHECK: tp.redistribute {{.*}}tp.cause = {{.*}}from = "partial<sum>", next_best
module attributes {tp.mesh = #mesh} {
  func.func @asked(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}},
                   %w: tensor<8x6xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                   %b: tensor<6xf32> {tp.kind = "parameter"}) -> tensor<16x6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
    %m = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x6xf32>) outs(%f : tensor<16x6xf32>) -> tensor<16x6xf32> loc("down"("mm"))
    %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %b : tensor<16x6xf32>, tensor<6xf32>) outs(%e : tensor<16x6xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x6xf32> loc("down"("add"))
    %z = tp.constrain %y on "tp" of #mesh to replicate view [16, 6] lazy at "down" "output" : tensor<16x6xf32>
    %s = linalg.exp ins(%z : tensor<16x6xf32>) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
    return %s : tensor<16x6xf32>
  }
}

// -----

// The addition is in no module, as in programs of JAX: the module is the one of the product.

#mesh = #tp.mesh<"tp" = 2>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @asked_of_no_module
// CHECK: tp.redistribute {{.*}}tp.cause = {{.*}}from = "partial<sum>", next_best
module attributes {tp.mesh = #mesh} {
  func.func @asked_of_no_module(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}},
                   %w: tensor<8x6xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}},
                   %b: tensor<6xf32> {tp.kind = "parameter"}) -> tensor<16x6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
    %m = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x6xf32>) outs(%f : tensor<16x6xf32>) -> tensor<16x6xf32> loc("down"("mm"))
    %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %b : tensor<16x6xf32>, tensor<6xf32>) outs(%e : tensor<16x6xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x6xf32> loc("model.py:3")
    %z = tp.constrain %y on "tp" of #mesh to replicate view [16, 6] lazy at "down" "output" : tensor<16x6xf32>
    %s = linalg.exp ins(%z : tensor<16x6xf32>) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
    return %s : tensor<16x6xf32>
  }
}

// -----

// The output of another module, and what cannot pass partial sums on, ask for nothing.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: @implicit
// CHECK: tp.redistribute {{.*}}from = "partial<sum>", implicit
module attributes {tp.mesh = #mesh} {
  func.func @implicit(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}},
                      %w: tensor<8x6xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<16x6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32>
    %m = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x6xf32>) outs(%f : tensor<16x6xf32>) -> tensor<16x6xf32> loc("down"("mm"))
    %y = linalg.exp ins(%m : tensor<16x6xf32>) outs(%e : tensor<16x6xf32>) -> tensor<16x6xf32> loc("down"("exp"))
    %z = tp.constrain %y on "tp" of #mesh to replicate view [16, 6] lazy at "down" "output" : tensor<16x6xf32>
    return %z : tensor<16x6xf32>
  }
}

// RUN: tp-opt %s --tp-propagate --tp-materialize | FileCheck %s

// A conversion of what all iterations read alike counts once: a gather of 512
// bytes instead of ten all_reduces of 256. Of what iterations slice they gather
// the slices, which are as many bytes; but not where ranks hold whole slices.
// CHECK-LABEL: func.func @f.part1(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<16x16xf32, #tp.layout<#mesh, [shard<0>]>>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<10x16x16xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<10x16x16xf32, #tp.layout<#mesh, [shard<0>]>>
// CHECK-NOT: tp.redistribute
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[A]]
// CHECK: %[[WHOLE:.*]] = tp.redistribute %[[B]] {{.*}} to tensor<10x16x16xf32, #tp.layout<#mesh, [replicate]>>
// CHECK: tensor.extract_slice %[[WHOLE]]
// CHECK: tp.redistribute %[[W]] {{.*}} to tensor<16x16xf32, #tp.layout<#mesh, [replicate]>>
// CHECK: tp.redistribute %[[SLICE]] {{.*}} to tensor<16x16xf32, #tp.layout<#mesh, [replicate]>>
// CHECK-NOT: tp.redistribute
// CHECK: return
#mesh = #tp.mesh<"tp" = 2>
#whole = {tp = #tp.placement<replicate>}
#first = {tp = #tp.placement<shard<0>>}
#second = {tp = #tp.placement<shard<1>>}
#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (k, j)>
#result = affine_map<(i, j, k) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @f(%w: tensor<16x16xf32> {tp.name = "w", tp.pin = #first}, %a: tensor<10x16x16xf32> {tp.name = "a", tp.pin = #second}, %b: tensor<10x16x16xf32> {tp.name = "b", tp.pin = #first}, %i: tensor<index> {tp.name = "i", tp.kind = "carried"}, %h: tensor<4x16xf32> {tp.name = "h", tp.kind = "carried"}, %g: tensor<64x16xf32> {tp.name = "g", tp.kind = "carried"}) {
    return
  }
  func.func @f.part1(%w: tensor<16x16xf32> {tp.name = "w", tp.pin = #first}, %a: tensor<10x16x16xf32> {tp.name = "a", tp.pin = #second}, %b: tensor<10x16x16xf32> {tp.name = "b", tp.pin = #first}, %i: tensor<index> {tp.name = "i", tp.kind = "carried"}, %h: tensor<4x16xf32> {tp.name = "h", tp.kind = "carried"}, %g: tensor<64x16xf32> {tp.name = "g", tp.kind = "carried"})
      -> (tensor<index> {tp.name = "i", tp.kind = "carried", tp.updates = "i"}, tensor<4x16xf32> {tp.name = "h", tp.kind = "carried", tp.updates = "h", tp.pin = #whole}, tensor<64x16xf32> {tp.name = "g", tp.kind = "carried", tp.updates = "g", tp.pin = #whole}) attributes {tp.part_of = "f", tp.times = 10 : i64, tp.calls = 10 : i64} {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : index
    %at = tensor.extract %i[] : tensor<index>
    %next = arith.addi %at, %one : index
    %i2 = tensor.from_elements %next : tensor<index>
    %sa = tensor.extract_slice %a[%at, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<10x16x16xf32> to tensor<16x16xf32>
    %sb = tensor.extract_slice %b[%at, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<10x16x16xf32> to tensor<16x16xf32>
    %e = tensor.empty() : tensor<4x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
    %h2 = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<4x16xf32>, tensor<16x16xf32>) outs(%f : tensor<4x16xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    } -> tensor<4x16xf32>
    %e2 = tensor.empty() : tensor<64x16xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x16xf32>) -> tensor<64x16xf32>
    %g2 = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g, %sa : tensor<64x16xf32>, tensor<16x16xf32>) outs(%f2 : tensor<64x16xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    } -> tensor<64x16xf32>
    %g3 = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g2, %sb : tensor<64x16xf32>, tensor<16x16xf32>) outs(%f2 : tensor<64x16xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    } -> tensor<64x16xf32>
    return %i2, %h2, %g3 : tensor<index>, tensor<4x16xf32>, tensor<64x16xf32>
  }
}

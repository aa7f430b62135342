// RUN: tp-opt %s --tp-propagate --tp-materialize | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-verify-materialized --tp-insert-collectives --tp-verify-collectives --tp-partition --tp-verify-partitioned

// Iterations add up products of shards: ranks carry partial sums, and add them
// up once behind the loop. Zeros to begin with are sums of zeros.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x8xf32, #tp.layout<#mesh, [partial<sum>]>>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<index, #tp.layout<#mesh, [replicate]>>
// CHECK: tp.redistribute %[[S]] {{.*}} to tensor<8x8xf32, #tp.layout<#mesh, [replicate]>>
// CHECK-LABEL: func.func @f.part0(
// CHECK-NOT: tp.redistribute
// CHECK: } -> tensor<8x8xf32, #tp.layout<#mesh, [partial<sum>]>>
// CHECK-NOT: tp.redistribute
// CHECK-LABEL: func.func @f.part1(
// CHECK-NOT: tp.redistribute
// CHECK: return
#mesh = #tp.mesh<"tp" = 2>
#rows = {tp = #tp.placement<shard<1>>}
#whole = {tp = #tp.placement<replicate>}
#left = affine_map<(i, j, k) -> (k, i)>
#right = affine_map<(i, j, k) -> (k, j)>
#sum = affine_map<(i, j, k) -> (i, j)>
#each = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @f(%x: tensor<10x64x8xf32> {tp.name = "x", tp.pin = #rows}, %s: tensor<8x8xf32> {tp.name = "s", tp.kind = "carried", tp.pin = {tp = "carried"}}, %n: tensor<index> {tp.name = "n", tp.kind = "carried", tp.pin = {tp = "carried"}})
      -> (tensor<8x8xf32> {tp.name = "y", tp.pin = #whole}, tensor<index> {tp.name = "m", tp.pin = #whole}) {
    return %s, %n : tensor<8x8xf32>, tensor<index>
  }
  func.func @f.part0(%x: tensor<10x64x8xf32> {tp.name = "x", tp.pin = #rows}, %s: tensor<8x8xf32> {tp.name = "s", tp.kind = "carried", tp.pin = {tp = "carried"}}, %n: tensor<index> {tp.name = "n", tp.kind = "carried", tp.pin = {tp = "carried"}})
      -> (tensor<8x8xf32> {tp.name = "s", tp.kind = "carried", tp.updates = "s", tp.pin = {tp = "as_parameter"}}, tensor<index> {tp.name = "n", tp.kind = "carried", tp.updates = "n", tp.pin = {tp = "as_parameter"}}) attributes {tp.part_of = "f", tp.times = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0> : tensor<index>
    %e = tensor.empty() : tensor<8x8xf32>
    %z = linalg.generic {indexing_maps = [#each], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x8xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    } -> tensor<8x8xf32>
    return %z, %none : tensor<8x8xf32>, tensor<index>
  }
  func.func @f.part1(%x: tensor<10x64x8xf32> {tp.name = "x", tp.pin = #rows}, %s: tensor<8x8xf32> {tp.name = "s", tp.kind = "carried", tp.pin = {tp = "carried"}}, %n: tensor<index> {tp.name = "n", tp.kind = "carried", tp.pin = {tp = "carried"}})
      -> (tensor<8x8xf32> {tp.name = "s", tp.kind = "carried", tp.updates = "s", tp.pin = {tp = "as_parameter"}}, tensor<index> {tp.name = "n", tp.kind = "carried", tp.updates = "n", tp.pin = {tp = "as_parameter"}}) attributes {tp.part_of = "f", tp.times = 10 : i64, tp.calls = 10 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %old = tensor.extract %n[] : tensor<index>
    %b = tensor.extract_slice %x[%old, 0, 0] [1, 64, 8] [1, 1, 1] : tensor<10x64x8xf32> to tensor<64x8xf32>
    %p = linalg.generic {indexing_maps = [#left, #right, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%b, %b : tensor<64x8xf32>, tensor<64x8xf32>) outs(%z : tensor<8x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.mulf %l, %r : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8x8xf32>
    %t = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel", "parallel"]} ins(%s, %p : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<8x8xf32>
    %one = arith.constant 1 : index
    %new = arith.addi %old, %one : index
    %m = tensor.from_elements %new : tensor<index>
    return %t, %m : tensor<8x8xf32>, tensor<index>
  }
}

// RUN: tp-opt %s --tp-partition --tp-verify-partitioned | FileCheck %s

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#P = #tp.layout<#mesh, [partial<sum>]>
#M = #tp.layout<#mesh, [partial<max>]>
#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @embedding(
  // CHECK-SAME: %[[TABLE:.*]]: tensor<13x8xf32> {tp.global_type = tensor<50x8xf32>, tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "table"}
  // CHECK-SAME: -> (tensor<8x8xf32> {tp.global_type = tensor<8x8xf32>, tp.layout = #tp.layout<#mesh, [replicate]>})
  func.func @embedding(%table: tensor<50x8xf32, #S0> {tp.name = "table"}, %ids: tensor<8xi64, #R>) -> tensor<8x8xf32, #R> {
    // CHECK: %[[E:.*]] = tensor.empty() {tp.values = {{.*}}} : tensor<8x8xf32>
    %e = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>, tp.values = [{id = 0}]} : tensor<8x8xf32, #P>
    // CHECK: %[[RANK:.*]] = tp.axis_index over <#mesh, ["tp"]>
    // CHECK: %[[CHUNK:.*]] = arith.constant 13 : index
    // CHECK: arith.muli %[[RANK]], %[[CHUNK]]
    // CHECK: %[[END:.*]] = arith.minsi
    // CHECK: linalg.generic
    // CHECK: %[[ROW:.*]] = arith.index_cast
    // CHECK: arith.cmpi sge, %[[ROW]], %[[START:.*]] : index
    // CHECK: arith.cmpi slt, %[[ROW]], %[[END]]
    // CHECK: %[[HERE:.*]] = arith.andi
    // CHECK: %[[LOCAL:.*]] = arith.subi %[[ROW]], %[[START]]
    // CHECK: %[[SAFE:.*]] = arith.select %[[HERE]], %[[LOCAL]], %{{.*}}
    // CHECK: %[[V:.*]] = tensor.extract %[[TABLE]][%[[SAFE]], %{{.*}}] : tensor<13x8xf32>
    // CHECK: %[[IDENTITY:.*]] = arith.constant -0.0{{.*}} : f32
    // CHECK: %[[M:.*]] = arith.select %[[HERE]], %[[V]], %[[IDENTITY]] : f32
    // CHECK: linalg.yield %[[M]]
    %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64, #R>) outs(%e : tensor<8x8xf32, #P>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<2>]>, tp.values = [{id = 1}]} {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %col = linalg.index 1 : index
      %v = tensor.extract %table[%row, %col] : tensor<50x8xf32, #S0>
      linalg.yield %v : f32
    } -> tensor<8x8xf32, #P>
    // CHECK: tp.all_reduce sum %{{.*}} over <#mesh, ["tp"]> {tp.values = [{id = 2 : i64, layout = #tp.layout<#mesh, [replicate]>, type = tensor<8x8xf32>}]} : tensor<8x8xf32> -> tensor<8x8xf32>
    %1 = tp.all_reduce sum %0 over <#mesh, ["tp"]> {tp.values = [{id = 2}]} : tensor<8x8xf32, #P> -> tensor<8x8xf32, #R>
    return %1 : tensor<8x8xf32, #R>
  }

  // Indices count globally; slices start at the rank's chunk; the local
  // partial value is the whole one on the first rank.
  // CHECK-LABEL: func.func @indices(
  func.func @indices(%x: tensor<8x8xf32, #R>) -> tensor<8x8xf32, #P> {
    // CHECK: %[[RANK:.*]] = tp.axis_index
    // CHECK: %[[START:.*]] = arith.muli %[[RANK]], %{{.*}} : index
    // CHECK: tensor.extract_slice %{{.*}}[0, %[[START]]] [8, 2] [1, 1]
    %0 = tp.local_slice %x dim 1 over <#mesh, ["tp"]> {tp.values = [{id = 0}]} : tensor<8x8xf32, #R> -> tensor<8x8xf32, #S1>
    // CHECK: linalg.generic
    // CHECK: %[[I:.*]] = linalg.index 1
    // CHECK: arith.addi %[[I]], %{{.*}} : index
    %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<8x8xf32, #S1>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<1>]>, tp.values = [{id = 1}]} {
    ^bb0(%o: f32):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i64
      %f = arith.sitofp %n : i64 to f32
      linalg.yield %f : f32
    } -> tensor<8x8xf32, #S1>
    // CHECK: tp.all_gather %{{.*}} dim 1 {{.*}} : tensor<8x2xf32> -> tensor<8x8xf32>
    %2 = tp.all_gather %1 dim 1 over <#mesh, ["tp"]> {tp.values = [{id = 2}]} : tensor<8x8xf32, #S1> -> tensor<8x8xf32, #R>
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq
    // CHECK: arith.select %[[FIRST]]
    %3 = tp.local_partial sum %2 over <#mesh, ["tp"]> {tp.values = [{id = 3}]} : tensor<8x8xf32, #R> -> tensor<8x8xf32, #P>
    return %3 : tensor<8x8xf32, #P>
  }

  // Of a maximum all ranks keep what they have.
  // CHECK-LABEL: func.func @maximum(
  // CHECK-SAME: %[[X:.*]]: tensor<8x8xf32>
  // CHECK-NEXT: return %[[X]]
  func.func @maximum(%x: tensor<8x8xf32, #R>) -> tensor<8x8xf32, #M> {
    %0 = tp.local_partial max %x over <#mesh, ["tp"]> {tp.values = [{id = 0}]} : tensor<8x8xf32, #R> -> tensor<8x8xf32, #M>
    return %0 : tensor<8x8xf32, #M>
  }
}

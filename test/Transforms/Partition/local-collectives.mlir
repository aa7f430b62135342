// RUN: tp-opt %s --tp-partition --tp-verify-partitioned | FileCheck %s

// Blocks are the chunk's size on all ranks: they are padded before they are
// sent and compacted after they were received.

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#P = #tp.layout<#mesh, [partial<sum>]>
#G0 = #tp.layout<#mesh, [shard<0, segments = [4, 2]>]>
#grid = #tp.mesh<"a" = 2, "b" = 2>
#RR = #tp.layout<#grid, [replicate, replicate]>
#AB = #tp.layout<#grid, [shard<0>, shard<0>]>

module attributes {tp.mesh = #mesh} {
  // Five rows: chunks of 2, the last rank has none.
  // CHECK-LABEL: func.func @gather(
  // CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>
  func.func @gather(%x: tensor<5x8xf32, #S0>) -> tensor<5x8xf32, #R> {
    // CHECK: %[[G:.*]] = tp.all_gather %[[X]] dim 0 {{.*}} {tp.payload_elements = 40 : i64} : tensor<2x8xf32> -> tensor<8x8xf32>
    // CHECK: tensor.extract_slice %[[G]][0, 0] [5, 8] [1, 1] {tp.values = [{id = 0 : i64, {{.*}} : tensor<8x8xf32> to tensor<5x8xf32>
    %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> {tp.values = [{id = 0}]} : tensor<5x8xf32, #S0> -> tensor<5x8xf32, #R>
    return %0 : tensor<5x8xf32, #R>
  }

  // CHECK-LABEL: func.func @scatter(
  func.func @scatter(%x: tensor<5x8xf32, #P>) -> tensor<5x8xf32, #S0> {
    // CHECK: %[[PAD:.*]] = arith.constant dense<0x7FC00000> : tensor<3x8xf32>
    // CHECK: %[[B:.*]] = tensor.concat dim(0) %{{.*}}, %[[PAD]] : (tensor<5x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
    // CHECK: tp.reduce_scatter sum %[[B]] dim 0 {{.*}}tp.payload_elements = 40 : i64{{.*}} : tensor<8x8xf32> -> tensor<2x8xf32>
    %0 = tp.reduce_scatter sum %x dim 0 over <#mesh, ["tp"]> {tp.values = [{id = 0}]} : tensor<5x8xf32, #P> -> tensor<5x8xf32, #S0>
    return %0 : tensor<5x8xf32, #S0>
  }

  // CHECK-LABEL: func.func @exchange(
  func.func @exchange(%x: tensor<5x6xf32, #S0>) -> tensor<5x6xf32, #S1> {
    // CHECK: %[[B:.*]] = tensor.concat dim(1) {{.*}} : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
    // CHECK: %[[A:.*]] = tp.all_to_all %[[B]] split 1 concat 0 {{.*}} : tensor<2x8xf32> -> tensor<8x2xf32>
    // CHECK: tensor.extract_slice %[[A]][0, 0] [5, 2] [1, 1]
    %0 = tp.all_to_all %x split 1 concat 0 over <#mesh, ["tp"]> : tensor<5x6xf32, #S0> -> tensor<5x6xf32, #S1>
    return %0 : tensor<5x6xf32, #S1>
  }

  // CHECK-LABEL: func.func @slice(
  func.func @slice(%x: tensor<5x8xf32, #R>) -> tensor<5x8xf32, #S0> {
    // CHECK: %[[RANK:.*]] = tp.axis_index
    // CHECK: %[[B:.*]] = tensor.concat dim(0) {{.*}} -> tensor<8x8xf32>
    // CHECK: %[[START:.*]] = arith.muli %[[RANK]], %c2
    // CHECK: tensor.extract_slice %[[B]][%[[START]], 0] [2, 8] [1, 1]
    %0 = tp.local_slice %x dim 0 over <#mesh, ["tp"]> : tensor<5x8xf32, #R> -> tensor<5x8xf32, #S0>
    return %0 : tensor<5x8xf32, #S0>
  }

  // A block has one row of the first segment and one of the second, which only
  // the first two ranks have.
  // CHECK-LABEL: func.func @gather_segments(
  func.func @gather_segments(%x: tensor<6xf32, #G0>) -> tensor<6xf32, #R> {
    // CHECK: %[[G:.*]] = tp.all_gather %{{.*}} : tensor<2xf32> -> tensor<8xf32>
    // CHECK: %[[P0:.*]] = tensor.extract_slice %[[G]][0] [1] [1]
    // CHECK: %[[P1:.*]] = tensor.extract_slice %[[G]][2] [1] [1]
    // CHECK: %[[P2:.*]] = tensor.extract_slice %[[G]][4] [1] [1]
    // CHECK: %[[P3:.*]] = tensor.extract_slice %[[G]][6] [1] [1]
    // CHECK: %[[P4:.*]] = tensor.extract_slice %[[G]][1] [1] [1]
    // CHECK: %[[P5:.*]] = tensor.extract_slice %[[G]][3] [1] [1]
    // CHECK: tensor.concat dim(0) %[[P0]], %[[P1]], %[[P2]], %[[P3]], %[[P4]], %[[P5]]
    %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<6xf32, #G0> -> tensor<6xf32, #R>
    return %0 : tensor<6xf32, #R>
  }

  // The chunk of 5 is two chunks of 3.
  // CHECK-LABEL: func.func @gather_nested(
  func.func @gather_nested(%x: tensor<10xf32, #AB>) -> tensor<10xf32, #RR> {
    // CHECK: %[[G:.*]] = tp.all_gather %{{.*}} : tensor<3xf32> -> tensor<12xf32>
    // CHECK: %[[P0:.*]] = tensor.extract_slice %[[G]][0] [5] [1]
    // CHECK: %[[P1:.*]] = tensor.extract_slice %[[G]][6] [5] [1]
    // CHECK: tensor.concat dim(0) %[[P0]], %[[P1]]
    %0 = tp.all_gather %x dim 0 over <#grid, ["a", "b"]> : tensor<10xf32, #AB> -> tensor<10xf32, #RR>
    return %0 : tensor<10xf32, #RR>
  }
}

// RUN: tp-opt %s -split-input-file --tp-propagate --tp-verify-assignment | FileCheck %s

// Rows of the table sharded, also unevenly: every rank looks up what it holds.

#mesh = #tp.mesh<"tp" = 4>
#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: @main
// CHECK-SAME: tensor<50x8xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [shard<0>]>
// CHECK: linalg.generic {{.*}} attrs = {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<2>]>}
// CHECK: tp.constrain {{.*}}tp.strategy = #tp.strategy<#mesh, [replicate]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<4xi64> {tp.kind = "user_input"},
                  %table: tensor<50x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %col = linalg.index 1 : index
      %v = tensor.extract %table[%row, %col] : tensor<50x8xf32>
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %1 = tp.constrain %0 on "tp" of #mesh to replicate view [4, 8] lazy at "tok_embeddings" "output" : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}

// -----

// Columns sharded: the result is a shard.

#mesh = #tp.mesh<"tp" = 4>
#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: @main
// CHECK: linalg.generic {{.*}} attrs = {tp.result_layouts = [#tp.layout<#mesh, [shard<1>]>], tp.strategy = #tp.strategy<#mesh, [split<1>]>}
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<4xi64> {tp.kind = "user_input"},
                  %table: tensor<50x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %col = linalg.index 1 : index
      %v = tensor.extract %table[%row, %col] : tensor<50x8xf32>
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// A replicated table is not cut where its rows do not divide, though what is
// added to its rows is partial.

#mesh = #tp.mesh<"tp" = 4>
#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: @main
// CHECK: linalg.generic {{.*}} attrs = {tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>}
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<4xi64> {tp.kind = "user_input"}, %table: tensor<2x8xf32> {tp.kind = "parameter"},
                  %x: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}}) -> (tensor<4x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %e = tensor.empty() : tensor<4x8xf32>
    %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %col = linalg.index 1 : index
      %v = tensor.extract %table[%row, %col] : tensor<2x8xf32>
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %1 = linalg.add ins(%0, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}

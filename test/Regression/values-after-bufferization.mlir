// Bufferization keeps `tp.values` on ops that have no results any more. The verifier then
// expected one entry per result, and the program of a rank could not go on upstream.
//
// RUN: tp-opt %s --one-shot-bufferize="bufferize-function-boundaries allow-unknown-ops" | FileCheck %s

// CHECK: linalg.exp {tp.values = [{id = 1 : i64}]} ins({{.*}} : memref
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tensor.empty() {tp.values = [{id = 0 : i64}]} : tensor<4xf32>
    %1 = linalg.exp {tp.values = [{id = 1 : i64}]} ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    %2 = tp.all_reduce sum %1 over <#mesh, ["tp"]> {tp.values = [{id = 2 : i64}]} : tensor<4xf32> -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

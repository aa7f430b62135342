// RUN: tp-opt %s --tp-propagate="replicate-unknown report-solver" --verify-diagnostics -o - | FileCheck %s
// RUN: not tp-opt %s --tp-propagate=objective=bytes 2>&1 | FileCheck %s --check-prefix=OBJECTIVE

// OBJECTIVE: error: expected objective 'communication' or 'time', got 'bytes'

#id = affine_map<(d0) -> (d0)>
module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-remark@+1 {{axis 'tp': 7 nodes, 7 variables, 3 after pruning, largest table 2, 0 passes for bounds}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %s = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    // CHECK: tensor.cast {{.*}} {tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>}
    // expected-remark@+1 {{'tensor.cast' has no sharding rule and is replicated}}
    %0 = tensor.cast %s : tensor<4xf32> to tensor<4xf32>
    %t = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    return %t : tensor<4xf32>
  }
}

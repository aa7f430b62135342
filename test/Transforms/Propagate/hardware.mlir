// What a machine is decides between sending and computing, and which axis is
// dear: `a` is between nodes of two, `b` in one.
// RUN: tp-opt %s --tp-propagate='objective=time hardware=h100' | FileCheck %s --check-prefix=FAST
// RUN: tp-opt %s --tp-propagate='objective=time hardware=%S/Inputs/slow-between-nodes.json' | FileCheck %s --check-prefix=SLOW
// RUN: tp-opt %s --tp-propagate='hardware=%S/Inputs/slow-between-nodes.json' | FileCheck %s --check-prefix=BYTES

#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  // FAST: linalg.matmul {{.*}}tp.strategy = #tp.strategy<#mesh, [split<2>, split<2>]>
  // SLOW: linalg.matmul {{.*}}tp.strategy = #tp.strategy<#mesh, [replicate, split<2>]>
  // BYTES: linalg.matmul {{.*}}tp.strategy = #tp.strategy<#mesh, [replicate, replicate]>
  func.func @main(%x: tensor<4096x65536xf32>, %w: tensor<65536x4096xf32>) -> (tensor<4096x4096xf32> {tp.pin = {a = #tp.placement<replicate>, b = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %init = tensor.empty() : tensor<4096x4096xf32>
    %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %y = linalg.matmul ins(%x, %w : tensor<4096x65536xf32>, tensor<65536x4096xf32>) outs(%fill : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %y : tensor<4096x4096xf32>
  }
}

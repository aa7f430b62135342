// RUN: tp-opt %s --tp-propagate --tp-verify-assignment | FileCheck %s

// One gather serves three uses; a fill used in two layouts becomes two, one
// used twice in the same layout stays one.

#mesh = #tp.mesh<"tp" = 2>

// CHECK: func.func @main
// CHECK-DAG: %[[E1:.*]] = tensor.empty() {{.*}}[shard<1>]
// CHECK-DAG: %[[E2:.*]] = tensor.empty() {{.*}}[replicate]
// CHECK-DAG: %[[F1:.*]] = linalg.fill {{.*}}outs(%[[E1]]
// CHECK-DAG: %[[F2:.*]] = linalg.fill {{.*}}outs(%[[E2]]
// CHECK-NOT: linalg.fill
// CHECK: linalg.matmul {{.*}}[split<1>]{{.*}} outs(%[[F1]]
// CHECK: linalg.matmul {{.*}}[split<1>]{{.*}} outs(%[[F1]]
// CHECK: linalg.matmul {{.*}}[replicate]{{.*}} outs(%[[F2]]
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}},
                  %w1: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w2: tensor<8x8xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
                  %w3: tensor<8x8xf32> {tp.kind = "parameter"})
      -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}},
          tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %a = linalg.matmul ins(%x, %w1 : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%x, %w2 : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %c = linalg.matmul ins(%x, %w3 : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %a, %b, %c : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
}

// RUN: tp-opt %s -split-input-file --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives --mlir-print-debuginfo | FileCheck %s

// What is linear in a partial argument passes it on to a partial result.

#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: @linear
// CHECK-SAME: tensor<4x8xf32, #tp.layout<#mesh, [partial<sum>]>>
// CHECK-NOT: tp.all_reduce
// CHECK: linalg.matmul {{.*}}passthrough<sum, [0, 2]>
// CHECK-NOT: tp.all_reduce
// CHECK: return {{.*}} : tensor<4x8xf32, #tp.layout<#mesh, [partial<sum>]>>
module attributes {tp.mesh = #mesh} {
  func.func @linear(%x: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}},
                    %w: tensor<8x8xf32>) -> (tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a : tensor<4x8xf32>
  }
}

// -----

// A whole value becomes partial where the result asks for it, and a maximum is
// partial as it stands.

#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: @made
// CHECK: %[[EXP:.*]] = linalg.exp {{.*}}[replicate]
// CHECK: tp.local_partial sum %[[EXP]]
// CHECK: tp.local_partial max %[[EXP]]
// CHECK-NOT: tp.all_reduce
module attributes {tp.mesh = #mesh} {
  func.func @made(%x: tensor<4x8xf32>)
      -> (tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}},
          tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<max>>}}) {
    %e = tensor.empty() : tensor<4x8xf32>
    %a = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a, %a : tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// -----

// What is not linear in an argument reduces it. The collective is of the module
// that reads it.

#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: @read
// CHECK: tp.all_reduce sum %arg0 {{.*}} loc([[LOC:#.*]])
// CHECK: [[LOC]] = loc("layer"({{.*}}))
module attributes {tp.mesh = #mesh} {
  func.func @read(%x: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}})
      -> (tensor<4x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %e = tensor.empty() : tensor<4x8xf32>
    %a = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32> loc("layer"("exp"))
    return %a : tensor<4x8xf32>
  }
}

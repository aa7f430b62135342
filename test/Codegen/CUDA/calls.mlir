// RUN: tp-opt %s --tp-cuda-compile=show=manifest -o /dev/null | FileCheck %s

// A function of the user is a command of its own, between kernels. The second
// rank has one row of three, and what it gets is packed as the buffer is.

// CHECK: {"command":"kernel"
// CHECK: {"command":"call","op":"my.op",
// CHECK-SAME: "inputs":[{"buffer":{"space":"arena"},"dtype":"f32","sizes":[{"axes":["tp"],"sizes":[3,1]},4],"strides":[4,1]}],
// CHECK-SAME: "outputs":[{"buffer":{"space":"result"},"dtype":"f32","sizes":[{"axes":["tp"],"sizes":[3,1]},4],"strides":[4,1]},{"buffer":{"space":"result","index":1},"dtype":"f32","sizes":[],"strides":[]}],
// CHECK-SAME: "attributes":[{"name":"counts","integers":["1","-2"]},{"name":"low","numbers":["-inf"]},{"name":"mode","text":"fast"}],
// CHECK-SAME: "module":"m","location":"op"}
module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>) {
    %e = tensor.empty() : tensor<3x4xf32>
    %a = linalg.exp ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
    %y, %s = tp.custom "my.op"(%a) {
      op_attributes = {counts = [1, -2], low = 0xFFF0000000000000 : f64, mode = "fast"},
      valid = [array<i64: 3, 1>],
      valid_dims = [array<i64: 0, -1>, array<i64: 0, -1>, array<i64>]
    } : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>) loc("m"("op"))
    return %y, %s : tensor<3x4xf32>, tensor<f32>
  }
}

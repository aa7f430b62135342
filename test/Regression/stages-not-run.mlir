// A text that says of the stages on tensors that they have run was taken at its word, and its
// assertion refused: no stage had moved it into a body.
// RUN: tp-compile %s -o %t.tp
// RUN: not tp-run %t.tp --random-data=1 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-cpu-compile=output=%t.again.tp -o /dev/null
// RUN: not tp-run %t.again.tp --random-data=1 2>&1 | FileCheck %s

// CHECK: error: no, in

module attributes {tp.on_tensors_done} {
  func.func @main(%x: tensor<8x4xf32>, %c: tensor<i1>) -> tensor<8x4xf32> {
    %holds = tensor.extract %c[] : tensor<i1>
    cf.assert %holds, "no"
    %e = tensor.empty() : tensor<8x4xf32>
    %y = linalg.negf ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}

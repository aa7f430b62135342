// Operands without elements were left out, and then there were none: an error.
// RUN: tp-opt %s --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s
// CHECK: "shape":[0,6]

func.func @main(%x: tensor<0x6xf32>) -> tensor<0x6xf32> {
  %y = tensor.concat dim(0) %x, %x : (tensor<0x6xf32>, tensor<0x6xf32>) -> tensor<0x6xf32>
  return %y : tensor<0x6xf32>
}

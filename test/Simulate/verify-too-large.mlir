// A tensor that no interpreter holds is no reason to refuse a program.
// RUN: tp-compile %s --plan=auto --mesh=tp=2 --verify 2>&1 | FileCheck %s
// CHECK: remark: not verified: 'func.func' op cannot be simulated: 'tensor<4x17179869184xf32{{.*}} has 68719476736 elements, at most 1073741824 can be simulated
// CHECK: remark: not all is verified: 0 values agree on 2 ranks before that op
func.func @main(%x: tensor<4x17179869184xf32>) -> tensor<4x17179869184xf32> {
  %e = tensor.empty() : tensor<4x17179869184xf32>
  %y = linalg.exp ins(%x : tensor<4x17179869184xf32>) outs(%e : tensor<4x17179869184xf32>) -> tensor<4x17179869184xf32>
  return %y : tensor<4x17179869184xf32>
}

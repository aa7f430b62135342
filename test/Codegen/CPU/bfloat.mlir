// RUN: tp-opt %s --tp-cpu-compile=show=lowered | FileCheck %s

// Arithmetic on bf16 is that on f32, and casts are integers: LLVM compares what it
// knows to come from bf16 as bf16, one by one. A negated number is not rounded.

// CHECK-LABEL: llvm.func internal @tp_kernel_0_body
// CHECK-NOT:   llvm.fpext
// CHECK-NOT:   llvm.fptrunc
// CHECK:       llvm.shl
// CHECK:       %[[X:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK:       %[[N:.*]] = llvm.fneg %[[X]] {{.*}}: f32
// CHECK-NOT:   llvm.fcmp
// CHECK:       llvm.fadd {{.*}} : f32
// CHECK:       llvm.fcmp "uno"
// CHECK-NOT:   llvm.fpext
// CHECK-NOT:   llvm.fptrunc
// CHECK:       llvm.return
func.func @main(%x: tensor<40xbf16>, %y: tensor<40xbf16>) -> tensor<40xbf16> {
  %e = tensor.empty() : tensor<40xbf16>
  %n = linalg.negf ins(%x : tensor<40xbf16>) outs(%e : tensor<40xbf16>) -> tensor<40xbf16>
  %s = linalg.add ins(%n, %y : tensor<40xbf16>, tensor<40xbf16>) outs(%e : tensor<40xbf16>) -> tensor<40xbf16>
  return %s : tensor<40xbf16>
}

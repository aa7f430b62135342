//===- Passes.td - passes of Codegen/CPU -------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CPU_PASSES_TD
#define TP_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def CPUCleanup : Pass<"tp-cpu-cleanup", "::mlir::func::FuncOp"> {
  let summary = "Simplify a per-rank function for the CPU code generator";
  let description = [{
    Folds ops so that constants and sizes reach their uses, widens operands of
    contractions to f32 unless both are f16 or both bf16, and removes common
    subexpressions. It fuses neither reshapes nor elementwise ops: the code
    generator reads through views and inlines values with a single use.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %a = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
      %b = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x2x8xf32> into tensor<4x8xf32>
      return %b : tensor<4x8xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
        return %arg0 : tensor<4x8xf32>
      }
    }
    ```
  }];
}

def CPUCompile : Pass<"tp-cpu-compile", "::mlir::ModuleOp"> {
  let summary = "Compile a per-rank module to a CPU artifact";
  let description = [{
    Runs the whole CPU back end (docs/cpu.md) on a module with one public function
    on local static shapes. With `show` it stops after a stage: `manifest` prints
    the manifest of the artifact, `kernels` and `lowered` replace the module by
    its kernels before and after their lowering to the llvm dialect.

    ```mlir
    // tp-opt --tp-cpu-compile=show=kernels
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      llvm.func internal @tp_kernel_0_body(%arg0: !llvm.ptr {llvm.noalias}, %arg1: !llvm.ptr {llvm.noalias}, %arg2: !llvm.ptr) attributes {no_inline, sym_visibility = "private"} {
        %c0_i64 = arith.constant 0 : i64
        %c0_i64_0 = arith.constant 0 : i64
        %c6_i64 = arith.constant 6 : i64
        %c1_i64 = arith.constant 1 : i64
        scf.for %arg3 = %c0_i64_0 to %c6_i64 step %c1_i64  : i64 {
          %0 = llvm.getelementptr inbounds %arg0[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %1 = llvm.load %0 : !llvm.ptr -> f32
          %2 = math.exp %1 : f32
          %3 = llvm.getelementptr inbounds %arg1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.store %2, %3 : f32, !llvm.ptr
        }
        llvm.return
      }
      llvm.func @tp_kernel_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
        %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
        %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
        %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
        %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
        llvm.call @tp_kernel_0_body(%1, %3, %arg1) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
        llvm.return
      }
    }
    ```
  }];
  let options = [
    Option<"output", "output", "std::string", "", "The artifact to write">,
    Option<"show", "show", "std::string", "",
           "What to print instead of writing an artifact: 'manifest', 'kernels' or 'lowered'">,
    Option<"targetCPU", "target-cpu", "std::string", "\"native\"",
           "An LLVM CPU name">,
  ];
}

#endif // TP_CODEGEN_CPU_PASSES_TD

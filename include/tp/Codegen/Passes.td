//===- Passes.td - passes of Codegen -----------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_PASSES_TD
#define TP_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormProgram : Pass<"tp-form-program", "::mlir::ModuleOp"> {
  let summary = "Turn a rank's function on tensors into commands on memory";
  let description = [{
    Decides which values are stored and in what element order, which contractions
    are GEMMs and what their epilogues are, which ops form one kernel, and the
    order of all commands. The function then takes and returns memrefs, and its
    body is allocations and commands (tp/IR/ProgramOps.td). Ops that a kernel
    evaluates are copied into it. Nothing has an offset yet.

    `target` is `cpu` or `cuda`. For `cuda` an attention becomes a
    `tp.attention`, with the commands that compute it without a library inside.

    ```mlir
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32>) -> memref<6xf32> {
        %0 = tp.alloc : memref<6xf32>
        tp.kernel reads(%arg0 : memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg1: memref<6xf32>, %arg2: memref<6xf32>):
          %1 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
          %2 = tensor.empty() : tensor<6xf32>
          %3 = linalg.exp ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xf32>) -> tensor<6xf32>
          %4 = tp.compute %3 into %arg2 : tensor<6xf32> into memref<6xf32>
        }
        return %0 : memref<6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
    Option<"scoreBytes", "score-bytes", "int64_t", "67108864",
           "Limit of the bytes of scores in one attention step; 0 leaves "
           "attention to GEMMs and kernels">,
  ];
}

def PlanMemory : Pass<"tp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every allocation and constant of a program an offset";
  let description = [{
    Allocations that no command needs at the same time share memory. A value may
    also take over the memory of an operand that its command reads last, if every
    element is read before the one in its place is written. Offsets are multiples
    of 64 bytes for the CPU and of 256 for `target=cuda`. Results and arguments
    have memory of their own.

    Offsets that a program has already are kept if all allocations have one; an
    error tells which two overlap while both are needed.

    ```mlir
    func.func @main(%x: memref<4x4xf32>) -> memref<4x4xf32> {
      %0 = tp.alloc : memref<4x4xf32>
      tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      %1 = tp.alloc : memref<4x4xf32>
      tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
      ^bb0(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>):
        %3 = bufferization.to_tensor %arg0 : memref<4x4xf32> to tensor<4x4xf32>
        %4 = tensor.empty() : tensor<4x4xf32>
        %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
        %6 = tp.compute %5 into %arg1 : tensor<4x4xf32> into memref<4x4xf32>
      }
      %2 = tp.alloc : memref<4x4xf32>
      tp.gemm %1, %x into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      return %2 : memref<4x4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<4x4xf32>) -> memref<4x4xf32> {
        %0 = tp.alloc at 0 : memref<4x4xf32>
        tp.gemm %arg0, %arg0 into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        %1 = tp.alloc at 0 : memref<4x4xf32>
        tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
        ^bb0(%arg1: memref<4x4xf32>, %arg2: memref<4x4xf32>):
          %3 = bufferization.to_tensor %arg1 : memref<4x4xf32> to tensor<4x4xf32>
          %4 = tensor.empty() : tensor<4x4xf32>
          %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
          %6 = tp.compute %5 into %arg2 : tensor<4x4xf32> into memref<4x4xf32>
        }
        %2 = tp.alloc : memref<4x4xf32>
        tp.gemm %1, %arg0 into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        return %2 : memref<4x4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_PASSES_TD

//===- SchedulePasses.td - passes on when commands run -----*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes on the commands of a rank's program: in which order they run. Passes.td
// includes them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_SCHEDULEPASSES_TD
#define TP_CODEGEN_SCHEDULEPASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCommands : Pass<"tp-schedule", "::mlir::ModuleOp"> {
  let summary = "Put the commands of a program into the order in which they run";
  let description = [{
    The order is that of the text, as far as results in the memory of arguments
    (`tp.alloc in`) allow: a command that writes such a result comes after every
    command that reads the argument. Where the text has it earlier, it moves behind
    the last of them, with all that depends on it. Allocations and views stand
    before the command that uses them first. A program that is in order stays as it
    is.

    No order is right if a command that reads the argument needs what is computed
    from the result. That is an error at the command; tp-update-in-place makes no
    such program.

    `target` is `cpu` or `cuda`.

    ```mlir
    func.func @main(%w: memref<2x2xf32> {tp.name = "w"}, %x: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>) {
      %0 = tp.alloc in %w of memref<2x2xf32> : memref<2x2xf32>
      tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
      %1 = tp.alloc : memref<2x2xf32>
      tp.gemm %x, %w into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
      return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<2x2xf32> {tp.name = "w"}, %arg1: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>) {
        %0 = tp.alloc : memref<2x2xf32>
        tp.gemm %arg1, %arg0 into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
        %1 = tp.alloc in %arg0 of memref<2x2xf32> : memref<2x2xf32>
        tp.gemm %arg1, %arg1 into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
        return %1, %0 : memref<2x2xf32>, memref<2x2xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_SCHEDULEPASSES_TD

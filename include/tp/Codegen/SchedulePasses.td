//===- SchedulePasses.td - passes on when commands run -----*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes on the commands of a rank's program: in which order they run, and what
// they wait for. Passes.td includes them.
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

def InsertWaits : Pass<"tp-insert-waits", "::mlir::ModuleOp"> {
  let summary = "Give commands queues of a device, and the waits between queues";
  let description = [{
    A device runs a program in two queues, side by side. `tp.queue` of a command
    names its queue: collectives are in `communication`, all others in `compute`.
    Within a queue commands keep the order of the program, so that all ranks start
    their collectives in one order.

    Where a command touches memory that an earlier command of the other queue
    writes, or writes memory that such a one touches, its queue waits: `tp.signal`
    behind the last of those commands, `tp.wait` before the command. What has been
    waited for counts for all later commands of the queue. Memory is what
    tp-plan-memory has made of it: two values that share bytes count as one. The end
    of the step waits for the last collective.

    `tp.with_previous` on a collective lets it start as one with the collective
    before it. They touch no common memory, the later one waits for nothing, and the
    library does each of them in one call.

    A program that names queues already is kept. It is an error if a command waits
    for less than it has to, or if only some commands name a queue.

    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: memref<2x2xf32>) -> memref<2x2xf32> {
        %0 = tp.alloc at 0 : memref<2x2xf32>
        tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
        %1 = tp.alloc : memref<2x2xf32>
        tp.communicate %0 into %1 : memref<2x2xf32>, memref<2x2xf32> {
        ^bb0(%a: tensor<2x2xf32>):
          %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
        }
        return %1 : memref<2x2xf32>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: memref<2x2xf32>) -> memref<2x2xf32> {
        %0 = tp.alloc at 0 : memref<2x2xf32>
        tp.gemm %arg0, %arg0 into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
        %1 = tp.signal compute
        %2 = tp.alloc : memref<2x2xf32>
        tp.wait communication for %1
        tp.communicate %0 into %2 : memref<2x2xf32>, memref<2x2xf32> {
        ^bb0(%arg1: tensor<2x2xf32>):
          %4 = tp.all_reduce sum %arg1 over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
        } {tp.queue = "communication"}
        %3 = tp.signal communication
        tp.wait compute for %3
        return %2 : memref<2x2xf32>
      }
    }
    ```
  }];
}

#endif // TP_CODEGEN_SCHEDULEPASSES_TD

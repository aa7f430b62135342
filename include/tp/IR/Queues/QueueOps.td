//===- QueueOps.td - queues of a device --------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device runs the commands of a rank's program in queues. A command starts
// when the one before it in its queue has ended; queues run side by side, but for
// waits. `tp.queue` on a command names its queue, `tp.with_previous` on a
// collective says that it starts as one with the collective before it.
// tp-insert-waits leaves them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_QUEUES_QUEUEOPS_TD
#define TP_IR_QUEUES_QUEUEOPS_TD

include "mlir/IR/EnumAttr.td"
include "tp/IR/TPDialect.td"

def TP_Queue : I32EnumAttr<"Queue", "a queue of a device", [
    I32EnumAttrCase<"Compute", 0, "compute">,
    I32EnumAttrCase<"Communication", 1, "communication">]> {
  let cppNamespace = "::tp";
}

def TP_SignalOp : Op<TP_Dialect, "signal"> {
  let summary = "The point where a command of a queue has ended";
  let description = [{
    `event` is the end of the last command of `queue` that stands before the op, and
    so of all that the queue ran before. There is such a command.

    ```mlir
    tp.gemm %x, %w into %y {tp.queue = "compute"} : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
    %0 = tp.signal compute
    ```
  }];
  let arguments = (ins TP_Queue:$queue);
  let results = (outs NoneType:$event);
  let assemblyFormat = "$queue attr-dict";
}

def TP_WaitOp : Op<TP_Dialect, "wait"> {
  let summary = "Lets a queue wait for a command of another one";
  let description = [{
    The next command of `queue` starts when the event has come: a `tp.signal` of the
    other queue. A command has at most one such op before it. Behind the last
    command of the queue `compute` it is the end of the step that waits.

    ```mlir
    %0 = tp.signal compute
    tp.wait communication for %0
    ```
  }];
  let arguments = (ins TP_Queue:$queue, NoneType:$event);
  let assemblyFormat = "$queue `for` $event attr-dict";
  let hasVerifier = 1;
}

#endif // TP_IR_QUEUES_QUEUEOPS_TD

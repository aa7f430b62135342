//===- CheckInPlace.cpp - results in the memory of arguments --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandOrder.h"
#include "MemoryPlan.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

/// Fails if `command` reads the argument whose memory `next` has after that is
/// written. `writers` has the commands before it that wrote arguments.
static LogicalResult
checkRead(Operation *command, Value argument, tp::AllocOp next,
          const llvm::DenseMap<Value, Operation *> &writers,
          const CommandUses &uses, KernelPlans &kernels) {
  Operation *writer = writers.lookup(argument);
  if (!writer && uses.writes.contains(next)) {
    FailureOr<bool> may = mayTakeOver(command, next, argument, kernels);
    if (failed(may) || *may)
      return may;
    writer = command;
  }
  if (!writer)
    return success();
  InFlightDiagnostic error =
      command->emitOpError("reads an argument after the result in its memory "
                           "is written: expected tp-schedule before");
  error.attachNote(writer->getLoc()) << "it is written here";
  error.attachNote(next.getLoc()) << "the result's memory is here";
  return error;
}

LogicalResult tp::target::checkInPlace(func::FuncOp program,
                                       KernelPlans &kernels) {
  llvm::DenseMap<Value, tp::AllocOp> updates;
  for (auto alloc : program.front().getOps<tp::AllocOp>())
    if (alloc.getMemory())
      updates[alloc.getMemory()] = alloc;
  if (updates.empty())
    return success();
  llvm::DenseMap<Value, Operation *> writers;
  for (Operation *command : topCommandsOf(program)) {
    CommandUses uses = usesOf(command);
    for (Value root : uses.reads)
      if (auto it = updates.find(root); it != updates.end())
        if (failed(
                checkRead(command, root, it->second, writers, uses, kernels)))
          return failure();
    for (Value root : uses.writes)
      if (auto alloc = root.getDefiningOp<tp::AllocOp>();
          alloc && alloc.getMemory())
        writers[alloc.getMemory()] = command;
  }
  return success();
}

//===- CommandQueues.h - which queue a command runs in ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCHEDULE_COMMANDQUEUES_H
#define TP_LIB_CODEGEN_SCHEDULE_COMMANDQUEUES_H

#include "TargetTraits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/Queues/Queues.h"

namespace tp::target {

/// Whether the target runs commands in queues: devices do.
inline bool hasQueues(const TargetTraits &traits) {
  return traits.name == cudaTraits.name;
}

/// A command of a program as a queue of a device runs it. Commands are numbered
/// by their places in the program, an attention with its steps as one.
struct QueuedCommand {
  mlir::Operation *op;
  tp::Queue queue;
  /// The command of the other queue that has ended when this one starts, and
  /// with it all that its queue ran before.
  std::optional<unsigned> waitFor = std::nullopt;
  /// A collective that starts as one with the command before it, which is one
  /// too.
  bool withPrevious = false;
};

struct CommandQueues {
  std::vector<QueuedCommand> commands;
  /// The command of the queue `communication` for which the end of the step
  /// waits.
  std::optional<unsigned> endWaitsFor;
};

/// Whether anything in `program` says which queue runs a command, or what one
/// waits for.
bool namesQueues(mlir::func::FuncOp program);

/// What `program` says of the queues of all its commands. Fails with a located
/// error where it says nothing, or what no queue can do.
mlir::FailureOr<CommandQueues> readQueues(mlir::func::FuncOp program);

/// Gives every command of `program`, whose memory has offsets, a queue, and
/// each queue the waits for what the other one does with the same memory. What
/// the program names already is kept: it is a located error where it waits for
/// less than it has to.
mlir::LogicalResult insertWaits(mlir::func::FuncOp program);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCHEDULE_COMMANDQUEUES_H

//===- QueueSchedule.h - which queue a command runs in ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_QUEUESCHEDULE_H
#define TP_RUNTIME_CUDA_QUEUESCHEDULE_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime::cuda {

/// Commands run in order within a queue of the device; queues run concurrently.
enum class Queue { Compute, Communication };

struct QueuedCommand {
  Queue queue = Queue::Compute;
  /// The command of the other queue that must have ended first, or -1. All of
  /// that queue's earlier ones have ended then too.
  int64_t waitFor = -1;
  /// A command of the other queue, or the end of the step, waits for this one.
  bool awaited = false;
  /// How many collectives, from this one on, start as one: 0 for those that an
  /// earlier one starts with.
  int64_t together = 1;
};

/// The queue and the waits of every command. Collectives have a queue of their
/// own, and wait for the latest command that touches the same bytes; other
/// commands wait for a collective only if they touch bytes that it reads or
/// writes. Commands keep the program's order within a queue, so that all ranks
/// start their collectives in one order. Consecutive collectives that touch
/// none of each other's bytes, and that wait for nothing more, start together.
struct QueueSchedule {
  std::vector<QueuedCommand> commands;
  /// The last collective that nothing in the program waited for, or -1.
  int64_t endWaitsFor = -1;
  bool communicates = false;
};

QueueSchedule planQueues(const EntryView &entry);

/// Bytes from the operand's offset on that a gemm of `rows` x `columns`
/// (before any transpose) touches.
int64_t operandBytes(const GemmCommand &gemm, const GemmOperand &operand,
                     int64_t rows, int64_t columns, DataType dtype);

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_QUEUESCHEDULE_H

//===- ManifestCheckQueues.cpp - what the queues of a device wait for -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>
#include <limits>
#include <utility>

using namespace tp::runtime;

namespace {

/// Bytes of a buffer space that a command touches.
struct ByteInterval {
  Space space;
  int64_t index;
  int64_t begin, end;
  bool writes;
};

bool conflict(const ByteInterval &a, const ByteInterval &b) {
  return (a.writes || b.writes) && a.space == b.space && a.index == b.index &&
         a.begin < b.end && b.begin < a.end;
}

bool conflict(const std::vector<ByteInterval> &some,
              const std::vector<ByteInterval> &others) {
  return std::any_of(some.begin(), some.end(), [&](const ByteInterval &mine) {
    return std::any_of(
        others.begin(), others.end(),
        [&](const ByteInterval &its) { return conflict(mine, its); });
  });
}

/// Bytes from the operand's offset on that a gemm of `rows` x `columns` (before
/// any transpose) touches.
int64_t operandBytes(const GemmCommand &gemm, const GemmOperand &operand,
                     int64_t rows, int64_t columns, DataType dtype) {
  if (operand.transpose)
    std::swap(rows, columns);
  if (rows == 0 || columns == 0)
    return 0;
  int64_t last = (rows - 1) * operand.ld + columns;
  for (size_t d = 0; d < gemm.batch.size(); ++d) {
    if (gemm.batch[d] == 0)
      return 0;
    last += (gemm.batch[d] - 1) * operand.batchStrides[d];
  }
  return last * byteSize(dtype);
}

class ByteIntervals {
public:
  explicit ByteIntervals(const EntryView &entry) : entry(entry) {}

  std::vector<ByteInterval> of(const Command &command) {
    intervals.clear();
    std::visit([&](const auto &what) { add(what); }, command.what);
    return std::move(intervals);
  }

private:
  void add(const BufferRef &buffer, std::optional<int64_t> bytes, bool reads,
           bool writes) {
    int64_t end =
        bytes ? buffer.offset + *bytes : std::numeric_limits<int64_t>::max();
    if ((reads || writes) && end > buffer.offset)
      intervals.push_back(
          {buffer.space, buffer.index, buffer.offset, end, writes});
  }
  void add(const KernelCommand &kernel) {
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      BufferAccess access;
      if (i < kernel.launch.accesses.size())
        access = kernel.launch.accesses[i];
      add(kernel.buffers[i], access.bytes, access.reads, access.writes);
    }
  }
  void add(const GemmCommand &gemm) {
    add(gemm.a.buffer, operandBytes(gemm, gemm.a, gemm.m, gemm.k, gemm.dtype),
        true, false);
    add(gemm.b.buffer, operandBytes(gemm, gemm.b, gemm.k, gemm.n, gemm.dtype),
        true, false);
    add(gemm.c.buffer, operandBytes(gemm, gemm.c, gemm.m, gemm.n, gemm.cDtype),
        gemm.beta != 0 && !gemm.residual, true);
    if (gemm.residual)
      add(gemm.residual->buffer,
          operandBytes(gemm, *gemm.residual, gemm.m, gemm.n, gemm.cDtype), true,
          false);
    if (gemm.bias)
      add(*gemm.bias, gemm.n * byteSize(gemm.cDtype), true, false);
  }
  void add(const CollectiveCommand &call) {
    const Collective &row = entry.collectives[call.collective];
    int64_t members = entry.groups[row.group].size();
    int64_t once = call.outer * call.block * byteSize(row.dtype);
    bool wideInput = row.kind == CollectiveKind::ReduceScatter ||
                     row.kind == CollectiveKind::AllToAll;
    bool wideOutput = row.kind == CollectiveKind::AllGather ||
                      row.kind == CollectiveKind::AllToAll;
    add(call.input, wideInput ? once * members : once, true, false);
    add(call.output, wideOutput ? once * members : once, false, true);
  }
  void add(const CallCommand &call) {
    for (const auto *tensors : {&call.inputs, &call.outputs})
      for (const CallTensor &tensor : *tensors)
        add(tensor.buffer, tensorBytes(tensor), tensors == &call.inputs,
            tensors == &call.outputs);
  }
  void add(const AttentionBackwardCommand &) {
    // A device has none.
  }
  void add(const AttentionCommand &attention) {
    for (const AttentionOperand *operand :
         {&attention.q, &attention.k, &attention.v})
      add(operand->buffer, operandBytes(attention, *operand), true, false);
    if (attention.bias)
      add(attention.bias->buffer, biasBytes(attention), true, false);
    if (attention.onto)
      add(*attention.onto, operandBytes(attention, attention.o), true, false);
    add(attention.o.buffer, operandBytes(attention, attention.o), false, true);
    for (const Command &step : attention.steps)
      std::visit([&](const auto &what) { add(what); }, step.what);
  }

  const EntryView &entry;
  std::vector<ByteInterval> intervals;
};

/// Follows the program as the queues run it.
class QueueChecker : public Finder {
public:
  QueueChecker(const EntryView &entry, const std::string &outer)
      : entry(entry), outer(outer) {
    where = outer;
  }

  Status check() {
    if (!entry.isCuda()) {
      for (const Command &command : entry.program)
        if (command.queue != Queue::Compute || command.waitFor ||
            command.withPrevious)
          error("a command of target cpu has no queue and waits for nothing");
      if (entry.endWaitsFor)
        error("the end of a step of target cpu waits for no command");
      return status;
    }
    ByteIntervals intervals(entry);
    for (size_t i = 0; i < entry.program.size() && status.ok(); ++i) {
      where = outer + (outer.empty() ? "" : ", ") + entry.describe(i);
      touched.push_back(intervals.of(entry.program[i]));
      checkCommand(i);
    }
    where = outer;
    if (status.ok())
      checkEnd();
    return status;
  }

private:
  Queue queueOf(size_t command) const { return entry.program[command].queue; }
  bool isCollective(size_t command) const {
    return std::holds_alternative<CollectiveCommand>(
        entry.program[command].what);
  }
  std::string name(size_t command) const {
    return "command " + std::to_string(command);
  }

  void checkCommand(size_t i) {
    const Command &command = entry.program[i];
    Queue expected = isCollective(i) ? Queue::Communication : Queue::Compute;
    if (command.queue != expected)
      return error(std::string("expected the queue ") + spelling(expected) +
                   ", got " + spelling(command.queue) +
                   "; what an older tp made must be compiled again");
    if (command.waitFor)
      checkWait(*command.waitFor, command.queue, i);
    if (command.withPrevious)
      checkGroup(i);
    else
      groupBegin = i;
    if (status.ok())
      checkOrder(i);
  }

  /// Notes that a queue waits for a command of the other one.
  void checkWait(int64_t awaited, Queue queue, size_t end) {
    if (awaited >= int64_t(end))
      return error("it waits for command " + std::to_string(awaited) +
                   ", expected an earlier one");
    if (queueOf(awaited) == queue)
      return error("it waits for " + name(awaited) +
                   " of its own queue, expected one of the other");
    int64_t &known = ended[int(queueOf(awaited))];
    known = std::max(known, awaited);
  }

  /// A command waits for what the other queue does with its memory.
  void checkOrder(size_t i) {
    int64_t known = ended[1 - int(queueOf(i))];
    for (int64_t j = int64_t(i) - 1; j > known; --j)
      if (queueOf(j) != queueOf(i) && conflict(touched[i], touched[j]))
        return error("it touches memory that " + name(j) + " of the queue " +
                     spelling(queueOf(j)) +
                     " touches, expected it to wait for that");
  }

  /// Whether NCCL runs the collective as calls in one queue and nothing else.
  bool mayStartTogether(size_t i) const {
    const auto *call = std::get_if<CollectiveCommand>(&entry.program[i].what);
    if (!call)
      return false;
    const Collective &row = entry.collectives[call->collective];
    bool blocks = row.kind == CollectiveKind::AllGather ||
                  row.kind == CollectiveKind::ReduceScatter ||
                  row.kind == CollectiveKind::AllToAll;
    return entry.groups[row.group].size() > 1 &&
           call->outer * call->block > 0 && !(blocks && call->outer > 1);
  }

  void checkGroup(size_t i) {
    if (i == 0 || !mayStartTogether(i) || !mayStartTogether(i - 1))
      return error("it starts with the command before it, expected two "
                   "collectives of several ranks, of elements without gaps");
    if (entry.program[i].waitFor)
      return error("it starts with the command before it, expected no wait");
    for (size_t j = groupBegin; j < i; ++j)
      if (conflict(touched[i], touched[j]))
        return error("it starts with " + name(j) +
                     ", which touches the same memory");
  }

  void checkEnd() {
    if (entry.endWaitsFor) {
      where += std::string(where.empty() ? "" : ", ") + "the end of the step";
      checkWait(*entry.endWaitsFor, Queue::Compute, entry.program.size());
    }
    for (int64_t i = int64_t(entry.program.size()) - 1;
         i > ended[int(Queue::Communication)] && status.ok(); --i)
      if (queueOf(i) == Queue::Communication)
        error("expected the end of the step to wait for " + name(i));
  }

  const EntryView &entry;
  std::string outer;
  std::vector<std::vector<ByteInterval>> touched;
  /// Of each queue, up to which command the other one knows it to have ended.
  int64_t ended[numQueues] = {-1, -1};
  /// The first of the collectives that start as one.
  size_t groupBegin = 0;
};

} // namespace

Status tp::runtime::checkQueues(const EntryView &entry,
                                const std::string &where) {
  return QueueChecker(entry, where).check();
}

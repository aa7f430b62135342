//===- QueueSchedule.cpp - which queue a command runs in ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/QueueSchedule.h"
#include <algorithm>
#include <limits>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

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

class ByteIntervals {
public:
  explicit ByteIntervals(const EntryView &entry) : entry(entry) {}

  std::vector<ByteInterval> of(const Command &command) {
    ranges.clear();
    std::visit([&](const auto &what) { add(what); }, command.what);
    return ranges;
  }

private:
  void add(const BufferRef &buffer, std::optional<int64_t> bytes, bool reads,
           bool writes) {
    int64_t end =
        bytes ? buffer.offset + *bytes : std::numeric_limits<int64_t>::max();
    if ((reads || writes) && end > buffer.offset)
      ranges.push_back(
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
  void add(const AttentionCommand &attention) {
    for (const AttentionOperand *operand :
         {&attention.q, &attention.k, &attention.v})
      add(operand->buffer, operandBytes(attention, *operand), true, false);
    if (attention.bias)
      add(attention.bias->buffer, biasBytes(attention), true, false);
    add(attention.o.buffer, operandBytes(attention, attention.o), false, true);
    for (const Command &step : attention.steps)
      std::visit([&](const auto &what) { add(what); }, step.what);
  }

  const EntryView &entry;
  std::vector<ByteInterval> ranges;
};

} // namespace

int64_t cuda::operandBytes(const GemmCommand &gemm, const GemmOperand &operand,
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

/// Whether NCCL runs the collective as calls in one queue and nothing else.
static bool canShareGroup(const EntryView &entry,
                          const CollectiveCommand &call) {
  const Collective &row = entry.collectives[call.collective];
  bool blocks = row.kind == CollectiveKind::AllGather ||
                row.kind == CollectiveKind::ReduceScatter ||
                row.kind == CollectiveKind::AllToAll;
  return entry.groups[row.group].size() > 1 && call.outer * call.block > 0 &&
         !(blocks && call.outer > 1);
}

static bool dependOnEachOther(const std::vector<ByteInterval> &some,
                              const std::vector<ByteInterval> &others) {
  return std::any_of(some.begin(), some.end(), [&](const ByteInterval &mine) {
    return std::any_of(
        others.begin(), others.end(),
        [&](const ByteInterval &its) { return conflict(mine, its); });
  });
}

static void planGroups(const EntryView &entry,
                       const std::vector<std::vector<ByteInterval>> &touched,
                       QueueSchedule &schedule) {
  auto shares = [&](size_t i) {
    const auto *call = std::get_if<CollectiveCommand>(&entry.program[i].what);
    return call && canShareGroup(entry, *call);
  };
  for (size_t first = 0, next = 0; first < entry.program.size();
       first = std::max(next, first + 1)) {
    for (next = first; next < entry.program.size() && shares(next); ++next) {
      bool free = next == first || schedule.commands[next].waitFor < 0;
      for (size_t i = first; i < next; ++i)
        free &= !dependOnEachOther(touched[i], touched[next]);
      if (!free)
        break;
    }
    for (size_t i = first; i < next; ++i)
      schedule.commands[i].together = i == first ? int64_t(next - first) : 0;
  }
}

QueueSchedule cuda::planQueues(const EntryView &entry) {
  QueueSchedule schedule;
  ByteIntervals ranges(entry);
  std::vector<std::vector<ByteInterval>> touched;
  // Commands of each queue, and of the other queue's the last one that is
  // known to have ended when the next command of this one starts.
  std::vector<int64_t> ofQueue[2];
  int64_t known[2] = {-1, -1};
  for (size_t i = 0; i < entry.program.size(); ++i) {
    const Command &command = entry.program[i];
    QueuedCommand &scheduled = schedule.commands.emplace_back();
    bool collective = std::holds_alternative<CollectiveCommand>(command.what);
    scheduled.queue = collective ? Queue::Communication : Queue::Compute;
    schedule.communicates |= collective;
    touched.push_back(ranges.of(command));
    int own = int(scheduled.queue), other = 1 - own;
    for (size_t j = ofQueue[other].size(); j-- > 0;) {
      int64_t earlier = ofQueue[other][j];
      if (earlier <= known[own])
        break;
      bool depends = dependOnEachOther(touched[i], touched[earlier]);
      if (!depends)
        continue;
      scheduled.waitFor = known[own] = earlier;
      schedule.commands[earlier].awaited = true;
      break;
    }
    ofQueue[own].push_back(i);
  }
  const auto &collectives = ofQueue[int(Queue::Communication)];
  if (!collectives.empty() && collectives.back() > known[int(Queue::Compute)]) {
    schedule.endWaitsFor = collectives.back();
    schedule.commands[schedule.endWaitsFor].awaited = true;
  }
  planGroups(entry, touched, schedule);
  return schedule;
}

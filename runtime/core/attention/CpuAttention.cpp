//===- CpuAttention.cpp - attention on the CPU ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuAttention.h"
#include "AttentionBlocks.h"

using namespace tp::runtime;

namespace {

float maximum(const float *row, int64_t count) {
  return vectorLoops().softmax.maximum(row, count);
}
double maximum(const double *row, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, row[i]);
  return largest;
}
/// `Sum` is the type of scores and sums.
template <typename Sum> class Attention : AttentionBlocks<Sum> {
  using Blocks = AttentionBlocks<Sum>;
  using Blocks::at, Blocks::packed, Blocks::seenBy, Blocks::elementBytes,
      Blocks::isCopied;

public:
  Attention(const AttentionCommand &command,
            const AttentionAddresses &addresses, void *scratch)
      : Blocks(command), command(command), addresses(addresses) {
    Scratch<Sum> memory(scratch);
    int64_t rows = rowsOf(command), keys = keysOf(command);
    scores = memory.take(rows * keys);
    sums = memory.take(rows * command.valueSize);
    largest = memory.take(rows);
    totals = memory.take(rows);
    const int64_t *steps = command.q.strides.data();
    if (isCopied(steps[groups(command) ? 1 : 2], command.headSize))
      packedQ = memory.take(rows * command.headSize);
    if (isCopied(command.k.strides[2], command.headSize) ||
        isCopied(command.v.strides[2], command.valueSize))
      packedKeys =
          memory.take(keys * std::max(command.headSize, command.valueSize));
    used = memory.used();
  }

  static bool groups(const AttentionCommand &c) {
    return c.queries == 1 && c.heads > c.kvHeads;
  }
  static int64_t rowsOf(const AttentionCommand &c) {
    return std::min(groups(c) ? c.heads / c.kvHeads : c.queries, blockRows);
  }
  static int64_t keysOf(const AttentionCommand &c) {
    return std::min(c.keys, blockKeys);
  }

  void run();
  int64_t used = 0;

private:
  void runRows(const RowSpace &space, const char *q, const char *k,
               const char *v, const char *bias, const char *onto, char *o);
  void start(const RowSpace &space, const char *onto, int64_t firstRow,
             int64_t rows);
  void soften(int64_t rows, int64_t keys);
  void write(const RowSpace &space, char *o, int64_t firstRow, int64_t rows);
  void writeState(const RowSpace &space, char *o, int64_t firstRow,
                  int64_t rows);

  const AttentionCommand &command;
  const AttentionAddresses &addresses;
  /// Of a block; the sums are of probabilities times values.
  Sum *scores, *sums;
  /// Per row: the largest score, and the sum of the exponentials.
  Sum *largest, *totals;
  Sum *packedQ = nullptr, *packedKeys = nullptr;
};

template <typename Sum> void Attention<Sum>::run() {
  int64_t group = command.heads / command.kvHeads;
  int64_t outputBytes = byteSize(command.outputType());
  RowSpace space{command.queries, command.q.strides[2], command.o.strides[2],
                 command.bias ? command.bias->strides[2] : 0, groups(command)};
  if (space.isOfHeads)
    space = {group, command.q.strides[1], command.o.strides[1],
             command.bias ? command.bias->strides[1] : 0, true};
  int64_t step = space.isOfHeads ? group : 1;
  for (int64_t batch = 0; batch < command.batch; ++batch)
    for (int64_t head = 0; head < command.heads; head += step)
      runRows(space, at(addresses.q, command.q, batch, head, elementBytes),
              at(addresses.k, command.k, batch, head / group, elementBytes),
              at(addresses.v, command.v, batch, head / group, elementBytes),
              this->biasAt(addresses.bias, batch, head),
              addresses.onto
                  ? at(addresses.onto, command.o, batch, head, outputBytes)
                  : nullptr,
              const_cast<char *>(
                  at(addresses.o, command.o, batch, head, outputBytes)));
}

template <typename Sum>
void Attention<Sum>::runRows(const RowSpace &space, const char *q,
                             const char *k, const char *v, const char *bias,
                             const char *onto, char *o) {
  for (int64_t row = 0, rows = 0; row < space.count; row += rows) {
    rows = this->rowsAlike(space, bias, row,
                           std::min(space.count - row, blockRows));
    // The keys that the first and the last of these rows see.
    int64_t first = seenBy(space, bias, row).first;
    int64_t end = seenBy(space, bias, row + rows - 1).end;
    // A state that nothing is added to stays where it is.
    if (first >= end && onto == o && command.isPartial)
      continue;
    start(space, onto, row, rows);
    Rows left = packed({q + row * space.q * elementBytes, space.q}, rows,
                       command.headSize, packedQ);
    for (int64_t key = first; key < end; key += blockKeys) {
      int64_t keys = std::min(end - key, blockKeys);
      int64_t step = command.k.strides[2];
      Rows right = packed({k + key * step * elementBytes, step}, keys,
                          command.headSize, packedKeys);
      multiplyRows<Sum>(rows, keys, command.headSize, command.scale, left,
                        false, right, true, 0, scores, keys);
      this->mask(space, bias, row, rows, key, keys, scores);
      soften(rows, keys);
      step = command.v.strides[2];
      right = packed({v + key * step * elementBytes, step}, keys,
                     command.valueSize, packedKeys);
      multiplyRows<Sum>(rows, command.valueSize, keys, 1,
                        {reinterpret_cast<const char *>(scores), keys}, false,
                        right, false, 1, sums, command.valueSize);
    }
    write(space, o, row, rows);
  }
}

/// What the keys before these made of some rows, or nothing.
template <typename Sum>
void Attention<Sum>::start(const RowSpace &space, const char *onto,
                           int64_t firstRow, int64_t rows) {
  if (!onto) {
    std::fill(largest, largest + rows, -std::numeric_limits<Sum>::infinity());
    std::fill(totals, totals + rows, Sum(0));
    std::fill(sums, sums + rows * command.valueSize, Sum(0));
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    const Sum *state =
        reinterpret_cast<const Sum *>(onto) + (firstRow + row) * space.o;
    std::copy(state, state + command.valueSize, sums + row * command.valueSize);
    largest[row] = state[command.valueSize];
    totals[row] = state[command.valueSize + 1];
  }
}

/// Scores become exponentials; sums so far are scaled to the new maximum.
template <typename Sum>
void Attention<Sum>::soften(int64_t rows, int64_t keys) {
  for (int64_t row = 0; row < rows; ++row) {
    Sum *scored = scores + row * keys;
    Sum before = largest[row];
    Sum now = std::max(before, maximum(scored, keys));
    // A row that has seen no key yet has no maximum to subtract.
    Sum shift = now == -std::numeric_limits<Sum>::infinity() ? Sum(0) : now;
    Sum total = exponentials(scored, keys, shift);
    if (before != now) {
      Sum factor = std::exp(before - shift);
      totals[row] *= factor;
      Sum *sum = sums + row * command.valueSize;
      for (int64_t j = 0; j < command.valueSize; ++j)
        sum[j] *= factor;
      largest[row] = now;
    }
    totals[row] += total;
  }
}

template <typename Sum>
void Attention<Sum>::writeState(const RowSpace &space, char *o,
                                int64_t firstRow, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Sum *sum = sums + row * command.valueSize;
    Sum *state = reinterpret_cast<Sum *>(o) + (firstRow + row) * space.o;
    std::copy(sum, sum + command.valueSize, state);
    state[command.valueSize] = largest[row];
    state[command.valueSize + 1] = totals[row];
  }
}

template <typename Sum>
void Attention<Sum>::write(const RowSpace &space, char *o, int64_t firstRow,
                           int64_t rows) {
  if (command.isPartial)
    return writeState(space, o, firstRow, rows);
  for (int64_t row = 0; row < rows; ++row) {
    Sum *sum = sums + row * command.valueSize;
    // Zero over zero, NaN, is what a row without keys gets unless it is zero.
    Sum factor = totals[row] == 0 && command.emptyRows == EmptyRows::Zero
                     ? Sum(0)
                     : Sum(1) / totals[row];
    bool empty = totals[row] == 0 && factor == 0;
    for (int64_t j = 0; j < command.valueSize; ++j)
      sum[j] = empty ? Sum(0) : sum[j] * factor;
    this->writeRow(sum, command.valueSize,
                   o + (firstRow + row) * space.o * elementBytes);
  }
}

} // namespace

int64_t tp::runtime::attentionScratch(const AttentionCommand &command) {
  AttentionAddresses none{};
  if (command.dtype == DataType::F64)
    return Attention<double>(command, none, nullptr).used * sizeof(double);
  return Attention<float>(command, none, nullptr).used * sizeof(float);
}

void tp::runtime::attention(const AttentionCommand &command,
                            const AttentionAddresses &addresses,
                            void *scratch) {
  if (command.dtype == DataType::F64)
    Attention<double>(command, addresses, scratch).run();
  else
    Attention<float>(command, addresses, scratch).run();
}

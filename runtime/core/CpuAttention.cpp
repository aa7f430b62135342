//===- CpuAttention.cpp - attention on the CPU ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuAttention.h"
#include "Product.h"
#include "VectorLoops.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace tp::runtime;

namespace {

/// Blocks whose scores stay in the cache.
constexpr int64_t blockRows = 128, blockKeys = 512;

bool isNarrow(DataType type) {
  return type == DataType::F16 || type == DataType::BF16;
}

float maximum(const float *row, int64_t count) {
  return vectorLoops().softmax.maximum(row, count);
}
double maximum(const double *row, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, row[i]);
  return largest;
}
float exponentials(float *row, int64_t count, float largest) {
  return vectorLoops().softmax.exponentials(row, count, largest);
}
double exponentials(double *row, int64_t count, double largest) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += row[i] = std::exp(row[i] - largest);
  return sum;
}

/// Whether products read rows that are apart by `step` elements.
bool areApart(int64_t step, int64_t columns) {
  return step >= columns && step <= INT32_MAX;
}

/// A number at or below this masks its key (docs/cuda.md).
constexpr double masked = -1e30;

/// A score with what is added to it. Of a key that is masked the score counts
/// for nothing, NaN and infinities neither.
template <typename Sum> Sum added(Sum score, Sum bias) {
  return bias <= Sum(masked) && !std::isfinite(score) ? bias : score + bias;
}

/// A matrix whose rows are apart by `step` elements.
struct Rows {
  const char *data;
  int64_t step;
};

/// The rows of one batch and of one head of keys: queries, or where there is
/// one query the heads that share these keys.
struct RowSpace {
  int64_t count;
  /// From one row to the next, in elements.
  int64_t q, o, bias;
  bool isOfHeads;
  int64_t queryOf(int64_t row) const { return isOfHeads ? 0 : row; }
};

/// The keys that a row sees.
struct KeySpan {
  int64_t first, end;
  bool isEmpty() const { return first >= end; }
};

/// `Sum` is the type of scores and sums.
template <typename Sum> class Attention {
public:
  Attention(const AttentionCommand &command,
            const AttentionAddresses &addresses, void *scratch)
      : command(command), addresses(addresses),
        elementBytes(byteSize(command.dtype)), narrow(isNarrow(command.dtype)) {
    auto *next = static_cast<Sum *>(scratch);
    auto take = [&](int64_t count) {
      Sum *taken = next;
      next += (count + 15) / 16 * 16;
      return taken;
    };
    int64_t rows = rowsOf(command), keys = keysOf(command);
    scores = take(rows * keys);
    sums = take(rows * command.valueSize);
    largest = take(rows);
    totals = take(rows);
    const int64_t *steps = command.q.strides.data();
    if (narrow || !areApart(steps[groups(command) ? 1 : 2], command.headSize))
      packedQ = take(rows * command.headSize);
    if (narrow || !areApart(command.k.strides[2], command.headSize) ||
        !areApart(command.v.strides[2], command.valueSize))
      packedKeys = take(keys * std::max(command.headSize, command.valueSize));
    used = next - static_cast<Sum *>(scratch);
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
  Rows packed(Rows rows, int64_t count, int64_t columns, Sum *to);
  void addBias(const RowSpace &space, const char *bias, int64_t firstRow,
               int64_t rows, int64_t firstKey, int64_t keys);
  KeySpan seenBy(const RowSpace &space, const char *bias, int64_t row) const;
  int64_t rowsAlike(const RowSpace &space, const char *bias, int64_t row,
                    int64_t most) const;
  void hide(const RowSpace &space, const char *bias, int64_t firstRow,
            int64_t rows, int64_t firstKey, int64_t keys);
  void soften(int64_t rows, int64_t keys);
  void write(const RowSpace &space, char *o, int64_t firstRow, int64_t rows);
  void writeState(const RowSpace &space, char *o, int64_t firstRow,
                  int64_t rows);
  void roundRow(const Sum *row, uint16_t *to);

  const AttentionCommand &command;
  const AttentionAddresses &addresses;
  int64_t elementBytes;
  bool narrow;
  /// In place of a bias the keys that every query sees.
  bool hasSpans = command.bias && command.bias->dtype == DataType::I64;
  /// Of a block; the sums are of probabilities times values.
  Sum *scores, *sums;
  /// Per row: the largest score, and the sum of the exponentials.
  Sum *largest, *totals;
  Sum *packedQ = nullptr, *packedKeys = nullptr;
};

template <typename Sum> void Attention<Sum>::run() {
  int64_t group = command.heads / command.kvHeads;
  auto at = [&](const void *base, const AttentionOperand &operand,
                int64_t batch, int64_t head) {
    int64_t bytes =
        &operand == &command.o ? byteSize(command.outputType()) : elementBytes;
    return static_cast<const char *>(base) +
           (batch * operand.strides[0] + head * operand.strides[1]) * bytes;
  };
  auto biasAt = [&](int64_t batch, int64_t head) -> const char * {
    if (!command.bias)
      return nullptr;
    return static_cast<const char *>(addresses.bias) +
           (batch * command.bias->strides[0] +
            head * command.bias->strides[1]) *
               byteSize(command.bias->dtype);
  };
  RowSpace space{command.queries, command.q.strides[2], command.o.strides[2],
                 command.bias ? command.bias->strides[2] : 0, groups(command)};
  if (space.isOfHeads)
    space = {group, command.q.strides[1], command.o.strides[1],
             command.bias ? command.bias->strides[1] : 0, true};
  int64_t step = space.isOfHeads ? group : 1;
  for (int64_t batch = 0; batch < command.batch; ++batch)
    for (int64_t head = 0; head < command.heads; head += step)
      runRows(
          space, at(addresses.q, command.q, batch, head),
          at(addresses.k, command.k, batch, head / group),
          at(addresses.v, command.v, batch, head / group), biasAt(batch, head),
          addresses.onto ? at(addresses.onto, command.o, batch, head) : nullptr,
          const_cast<char *>(at(addresses.o, command.o, batch, head)));
}

/// Rows of `Sum` that do not overlap, as products read them.
template <typename Sum>
Rows Attention<Sum>::packed(Rows rows, int64_t count, int64_t columns,
                            Sum *to) {
  if (!narrow && areApart(rows.step, columns))
    return rows;
  for (int64_t i = 0; i < count; ++i) {
    const char *from = rows.data + i * rows.step * elementBytes;
    if constexpr (std::is_same_v<Sum, float>)
      if (narrow) {
        NarrowType type =
            command.dtype == DataType::F16 ? NarrowType::F16 : NarrowType::BF16;
        narrowLoops(type).widen(reinterpret_cast<const uint16_t *>(from),
                                columns, to + i * columns);
        continue;
      }
    std::memcpy(to + i * columns, from, columns * sizeof(Sum));
  }
  return {reinterpret_cast<const char *>(to), columns};
}

/// C = alpha * A op(B) + beta * C.
template <typename Sum>
static void multiplyRows(int64_t m, int64_t n, int64_t k, Sum alpha, Rows a,
                         Rows b, bool transposeB, Sum beta, Sum *c,
                         int64_t ldc) {
  multiply(Product<Sum>{m,
                        n,
                        k,
                        alpha,
                        reinterpret_cast<const Sum *>(a.data),
                        {false, a.step},
                        reinterpret_cast<const Sum *>(b.data),
                        {transposeB, b.step},
                        beta,
                        c,
                        ldc});
}

template <typename Sum>
void Attention<Sum>::runRows(const RowSpace &space, const char *q,
                             const char *k, const char *v, const char *bias,
                             const char *onto, char *o) {
  for (int64_t row = 0, rows = 0; row < space.count; row += rows) {
    rows = rowsAlike(space, bias, row, std::min(space.count - row, blockRows));
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
                        right, true, 0, scores, keys);
      if (bias && !hasSpans)
        addBias(space, bias, row, rows, key, keys);
      hide(space, bias, row, rows, key, keys);
      soften(rows, keys);
      step = command.v.strides[2];
      right = packed({v + key * step * elementBytes, step}, keys,
                     command.valueSize, packedKeys);
      multiplyRows<Sum>(rows, command.valueSize, keys, 1,
                        {reinterpret_cast<const char *>(scores), keys}, right,
                        false, 1, sums, command.valueSize);
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

template <typename Sum>
void Attention<Sum>::addBias(const RowSpace &space, const char *bias,
                             int64_t firstRow, int64_t rows, int64_t firstKey,
                             int64_t keys) {
  const AttentionBias &form = *command.bias;
  int64_t step = form.strides[3];
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = (firstRow + row) * space.bias + firstKey * step;
    Sum *to = scores + row * keys;
    if (form.dtype ==
        (std::is_same_v<Sum, float> ? DataType::F32 : DataType::F64)) {
      auto *from = reinterpret_cast<const Sum *>(bias) + first;
      for (int64_t j = 0; j < keys; ++j)
        to[j] = added(to[j], from[j * step]);
    } else {
      for (int64_t j = 0; j < keys; ++j)
        to[j] = added(to[j],
                      Sum(elementAsDouble(form.dtype, bias, first + j * step)));
    }
  }
}

template <typename Sum>
KeySpan Attention<Sum>::seenBy(const RowSpace &space, const char *bias,
                               int64_t row) const {
  int64_t first = 0, end = command.keys, query = space.queryOf(row);
  if (hasSpans && command.bias) {
    const auto *spans = reinterpret_cast<const int64_t *>(bias);
    first = spans[row * space.bias];
    end = spans[row * space.bias + command.bias->strides[3]];
  } else {
    if (command.lower)
      first = query + *command.lower;
    if (command.upper)
      end = query + *command.upper + 1;
  }
  return {std::clamp<int64_t>(first, 0, command.keys),
          std::clamp<int64_t>(end, 0, command.keys)};
}

/// How many rows from `row` on see keys that move on by one at most, so that
/// the first and the last row see what all do.
template <typename Sum>
int64_t Attention<Sum>::rowsAlike(const RowSpace &space, const char *bias,
                                  int64_t row, int64_t most) const {
  if (!hasSpans)
    return most;
  KeySpan last = seenBy(space, bias, row);
  for (int64_t rows = 1; rows < most; ++rows) {
    KeySpan next = seenBy(space, bias, row + rows);
    auto isNear = [](int64_t from, int64_t to) {
      return to == from || to == from + 1;
    };
    if (last.isEmpty() != next.isEmpty() ||
        (!next.isEmpty() &&
         (!isNear(last.first, next.first) || !isNear(last.end, next.end))))
      return rows;
    last = next;
  }
  return most;
}

/// Scores of keys that a row does not see become minus infinity.
template <typename Sum>
void Attention<Sum>::hide(const RowSpace &space, const char *bias,
                          int64_t firstRow, int64_t rows, int64_t firstKey,
                          int64_t keys) {
  if (!command.lower && !command.upper && !hasSpans)
    return;
  for (int64_t row = 0; row < rows; ++row) {
    KeySpan seen = seenBy(space, bias, firstRow + row);
    int64_t first = std::clamp<int64_t>(seen.first - firstKey, 0, keys);
    int64_t end = std::clamp<int64_t>(seen.end - firstKey, first, keys);
    Sum *to = scores + row * keys, none = -std::numeric_limits<Sum>::infinity();
    std::fill(to, to + first, none);
    std::fill(to + end, to + keys, none);
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
    int64_t first = (firstRow + row) * space.o;
    if (narrow)
      roundRow(sum, reinterpret_cast<uint16_t *>(o) + first);
    else
      std::copy(sum, sum + command.valueSize,
                reinterpret_cast<Sum *>(o) + first);
  }
}

/// The elements of a row of the result.
template <typename Sum>
void Attention<Sum>::roundRow(const Sum *row, uint16_t *to) {
  bool isHalf = command.dtype == DataType::F16;
  if constexpr (std::is_same_v<Sum, float>)
    if (auto round =
            narrowLoops(isHalf ? NarrowType::F16 : NarrowType::BF16).round)
      return round(row, command.valueSize, to);
  for (int64_t j = 0; j < command.valueSize; ++j)
    to[j] = isHalf ? floatToHalf(row[j]) : floatToBfloat(row[j]);
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

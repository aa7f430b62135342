//===- AttentionBlocks.h - blocks of an attention's scores ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the forward and the backward pass of attention on the CPU share: some
// queries meet some keys, in memory that does not depend on how many there are.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_ATTENTION_ATTENTIONBLOCKS_H
#define TP_RUNTIME_CORE_ATTENTION_ATTENTIONBLOCKS_H

#include "core/Product.h"
#include "core/VectorLoops.h"
#include "tp/Runtime/Manifest.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace tp::runtime {

/// Blocks whose scores stay in the cache.
constexpr int64_t blockRows = 128, blockKeys = 512;

inline bool isNarrow(DataType type) {
  return type == DataType::F16 || type == DataType::BF16;
}

/// Whether products read rows that are apart by `step` elements.
inline bool areApart(int64_t step, int64_t columns) {
  return step >= columns && step <= INT32_MAX;
}

/// A number at or below this masks its key (docs/cuda.md).
constexpr double masked = -1e30;

/// A score with what is added to it. Of a key that is masked the score counts
/// for nothing, NaN and infinities neither.
template <typename Sum> Sum added(Sum score, Sum bias) {
  return bias <= Sum(masked) && !std::isfinite(score) ? bias : score + bias;
}

/// SoftmaxLoops::exponentials, in both types.
inline float exponentials(float *row, int64_t count, float shift) {
  return vectorLoops().softmax.exponentials(row, count, shift);
}
inline double exponentials(double *row, int64_t count, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += row[i] = std::exp(row[i] - shift);
  return sum;
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

/// Memory that is handed out in pieces, each aligned to 64 bytes.
template <typename Sum> class Scratch {
public:
  explicit Scratch(void *memory)
      : begin(static_cast<Sum *>(memory)), next(begin) {}
  Sum *take(int64_t count) {
    Sum *taken = next;
    next += (count + 15) / 16 * 16;
    return taken;
  }
  int64_t used() const { return next - begin; }

private:
  Sum *begin, *next;
};

/// C = alpha * op(A) op(B) + beta * C.
template <typename Sum>
void multiplyRows(int64_t m, int64_t n, int64_t k, Sum alpha, Rows a,
                  bool transposeA, Rows b, bool transposeB, Sum beta, Sum *c,
                  int64_t ldc) {
  multiply(Product<Sum>{m,
                        n,
                        k,
                        alpha,
                        reinterpret_cast<const Sum *>(a.data),
                        {transposeA, a.step},
                        reinterpret_cast<const Sum *>(b.data),
                        {transposeB, b.step},
                        beta,
                        c,
                        ldc});
}

/// Blocks of the scores of one attention. `Sum` is their type.
template <typename Sum> class AttentionBlocks {
public:
  explicit AttentionBlocks(const AttentionWeights &command)
      : weights(command), elementBytes(byteSize(command.dtype)),
        narrow(isNarrow(command.dtype)) {}

  /// An operand's row of one batch and head, of elements of `bytes`.
  static const char *at(const void *base, const AttentionOperand &operand,
                        int64_t batch, int64_t head, int64_t bytes) {
    return static_cast<const char *>(base) +
           (batch * operand.strides[0] + head * operand.strides[1]) * bytes;
  }
  const char *biasAt(const void *base, int64_t batch, int64_t head) const {
    const auto &bias = weights.bias;
    if (!bias)
      return nullptr;
    return static_cast<const char *>(base) +
           (batch * bias->strides[0] + head * bias->strides[1]) *
               byteSize(bias->dtype);
  }

  /// Rows of `Sum` that do not overlap, as products read them; of others those
  /// at `to`, where they are copied.
  Rows packed(Rows rows, int64_t count, int64_t columns, Sum *to) const;
  /// Whether packed() copies such rows.
  bool isCopied(int64_t step, int64_t columns) const {
    return narrow || !areApart(step, columns);
  }
  /// Rounds a row of `columns` numbers to the operands' type.
  void writeRow(const Sum *row, int64_t columns, void *to) const;

  /// What is added to the scores of some rows and keys.
  void addBias(const RowSpace &space, const char *bias, int64_t firstRow,
               int64_t rows, int64_t firstKey, int64_t keys, Sum *scores) const;
  KeySpan seenBy(const RowSpace &space, const char *bias, int64_t row) const;
  /// How many rows from `row` on see keys that move on by one at most, so that
  /// the first and the last row see what all do.
  int64_t rowsAlike(const RowSpace &space, const char *bias, int64_t row,
                    int64_t most) const;
  /// Scores of keys that a row does not see become minus infinity.
  void hide(const RowSpace &space, const char *bias, int64_t firstRow,
            int64_t rows, int64_t firstKey, int64_t keys, Sum *scores) const;
  /// What is added, and what is hidden.
  void mask(const RowSpace &space, const char *bias, int64_t firstRow,
            int64_t rows, int64_t firstKey, int64_t keys, Sum *scores) const {
    if (bias && !hasSpans)
      addBias(space, bias, firstRow, rows, firstKey, keys, scores);
    hide(space, bias, firstRow, rows, firstKey, keys, scores);
  }

  const AttentionWeights &weights;
  const int64_t elementBytes;
  /// Of f16 or bf16.
  const bool narrow;
  /// In place of a bias the keys that every query sees.
  const bool hasSpans = weights.bias && weights.bias->dtype == DataType::I64;
};

template <typename Sum>
Rows AttentionBlocks<Sum>::packed(Rows rows, int64_t count, int64_t columns,
                                  Sum *to) const {
  if (!isCopied(rows.step, columns))
    return rows;
  for (int64_t i = 0; i < count; ++i) {
    const char *from = rows.data + i * rows.step * elementBytes;
    if constexpr (std::is_same_v<Sum, float>)
      if (narrow) {
        NarrowType type =
            weights.dtype == DataType::F16 ? NarrowType::F16 : NarrowType::BF16;
        narrowLoops(type).widen(reinterpret_cast<const uint16_t *>(from),
                                columns, to + i * columns);
        continue;
      }
    std::memcpy(to + i * columns, from, columns * sizeof(Sum));
  }
  return {reinterpret_cast<const char *>(to), columns};
}

template <typename Sum>
void AttentionBlocks<Sum>::writeRow(const Sum *row, int64_t columns,
                                    void *to) const {
  if (!narrow) {
    std::copy(row, row + columns, static_cast<Sum *>(to));
    return;
  }
  auto *bits = static_cast<uint16_t *>(to);
  bool isHalf = weights.dtype == DataType::F16;
  if constexpr (std::is_same_v<Sum, float>)
    if (auto round =
            narrowLoops(isHalf ? NarrowType::F16 : NarrowType::BF16).round)
      return round(row, columns, bits);
  for (int64_t j = 0; j < columns; ++j)
    bits[j] = isHalf ? floatToHalf(row[j]) : floatToBfloat(row[j]);
}

template <typename Sum>
void AttentionBlocks<Sum>::addBias(const RowSpace &space, const char *bias,
                                   int64_t firstRow, int64_t rows,
                                   int64_t firstKey, int64_t keys,
                                   Sum *scores) const {
  const AttentionBias &form = *weights.bias;
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
KeySpan AttentionBlocks<Sum>::seenBy(const RowSpace &space, const char *bias,
                                     int64_t row) const {
  int64_t first = 0, end = weights.keys, query = space.queryOf(row);
  if (hasSpans && weights.bias) {
    const auto *spans = reinterpret_cast<const int64_t *>(bias);
    first = spans[row * space.bias];
    end = spans[row * space.bias + weights.bias->strides[3]];
  } else {
    if (weights.lower)
      first = query + *weights.lower;
    if (weights.upper)
      end = query + *weights.upper + 1;
  }
  return {std::clamp<int64_t>(first, 0, weights.keys),
          std::clamp<int64_t>(end, 0, weights.keys)};
}

template <typename Sum>
int64_t AttentionBlocks<Sum>::rowsAlike(const RowSpace &space, const char *bias,
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

template <typename Sum>
void AttentionBlocks<Sum>::hide(const RowSpace &space, const char *bias,
                                int64_t firstRow, int64_t rows,
                                int64_t firstKey, int64_t keys,
                                Sum *scores) const {
  if (!weights.lower && !weights.upper && !hasSpans)
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

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_ATTENTION_ATTENTIONBLOCKS_H

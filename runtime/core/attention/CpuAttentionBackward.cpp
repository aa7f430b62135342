//===- CpuAttentionBackward.cpp - gradients of attention ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuAttentionBackward.h"
#include "AttentionBlocks.h"
#include <limits>

using namespace tp::runtime;

namespace {

void weighted(const float *weights, float *products, int64_t count,
              float mean) {
  vectorLoops().softmax.gradient(weights, products, count, mean);
}
void weighted(const double *weights, double *products, int64_t count,
              double mean) {
  for (int64_t i = 0; i < count; ++i)
    products[i] = weights[i] * (products[i] - mean);
}

/// The addresses of one batch and head.
struct HeadAddresses {
  const char *q, *k, *v, *bias, *go, *lse, *delta;
  char *gq, *gk, *gv;
  const char *onto;
};

/// `Sum` is the type of scores and sums.
template <typename Sum> class Backward : AttentionBlocks<Sum> {
  using Blocks = AttentionBlocks<Sum>;
  using Blocks::at, Blocks::packed, Blocks::isCopied, Blocks::elementBytes;

public:
  Backward(const AttentionBackwardCommand &command,
           const AttentionBackwardAddresses &addresses, void *scratch)
      : Blocks(command), command(command), addresses(addresses),
        space{command.queries, command.q.strides[2], command.go.strides[2],
              command.bias ? command.bias->strides[2] : 0, false} {
    Scratch<Sum> memory(scratch);
    int64_t rows = std::min(command.queries, blockRows),
            keys = std::min(command.keys, blockKeys);
    auto copyOf = [&](const AttentionOperand &operand, int64_t count,
                      int64_t columns) -> Sum * {
      return isCopied(operand.strides[2], columns)
                 ? memory.take(count * columns)
                 : nullptr;
    };
    scores = memory.take(rows * keys);
    products = memory.take(rows * keys);
    queryGradients = memory.take(command.queries * command.headSize);
    keyGradients = memory.take(keys * command.headSize);
    valueGradients = memory.take(keys * command.valueSize);
    packedQ = copyOf(command.q, rows, command.headSize);
    packedGo = copyOf(command.go, rows, command.valueSize);
    packedK = copyOf(command.k, keys, command.headSize);
    packedV = copyOf(command.v, keys, command.valueSize);
    used = memory.used();
  }

  void run();
  int64_t used = 0;

private:
  void runHead(const HeadAddresses &head);
  void start(const char *onto);
  void addRows(const HeadAddresses &head, int64_t row, int64_t rows,
               int64_t firstKey, Rows k, Rows v, int64_t key, int64_t keys);
  void write(const Sum *from, int64_t count, int64_t columns,
             const AttentionOperand &operand, int64_t first, char *to) const;

  const AttentionBackwardCommand &command;
  const AttentionBackwardAddresses &addresses;
  RowSpace space;
  const bool hasNumbers = command.bias && !Blocks::hasSpans;
  /// Of a block of queries and keys: scores, which become weights, and products
  /// of gradients and values, which become gradients of scores.
  Sum *scores, *products;
  /// Of a head's queries, and of a block of keys.
  Sum *queryGradients, *keyGradients, *valueGradients;
  Sum *packedQ, *packedGo, *packedK, *packedV;
};

template <typename Sum> void Backward<Sum>::run() {
  int64_t group = command.heads / command.kvHeads;
  for (int64_t batch = 0; batch < command.batch; ++batch)
    for (int64_t head = 0; head < command.heads; ++head) {
      auto of = [&](const void *base, const AttentionOperand &operand) {
        return at(base, operand, batch, head, elementBytes);
      };
      auto shared = [&](const void *base, const AttentionOperand &operand) {
        return at(base, operand, batch, head / group, elementBytes);
      };
      auto sum = [&](const void *base, const AttentionOperand &operand) {
        return at(base, operand, batch, head, sizeof(Sum));
      };
      auto written = [&](void *base, const AttentionOperand &operand) {
        return const_cast<char *>(
            at(base, operand, batch, head, byteSize(command.gradientType)));
      };
      runHead({of(addresses.q, command.q), shared(addresses.k, command.k),
               shared(addresses.v, command.v),
               this->biasAt(addresses.bias, batch, head),
               of(addresses.go, command.go), sum(addresses.lse, command.lse),
               sum(addresses.delta, command.delta),
               written(addresses.gq, command.gq),
               written(addresses.gk, command.gk),
               written(addresses.gv, command.gv),
               addresses.onto ? sum(addresses.onto, command.gq) : nullptr});
    }
}

/// A head's gradients of q before this chunk of keys.
template <typename Sum> void Backward<Sum>::start(const char *onto) {
  int64_t columns = command.headSize;
  if (!onto) {
    std::fill(queryGradients, queryGradients + command.queries * columns,
              Sum(0));
    return;
  }
  for (int64_t i = 0; i < command.queries; ++i) {
    const Sum *row =
        reinterpret_cast<const Sum *>(onto) + i * command.gq.strides[2];
    std::copy(row, row + columns, queryGradients + i * columns);
  }
}

template <typename Sum> void Backward<Sum>::runHead(const HeadAddresses &head) {
  start(head.onto);
  for (int64_t first = 0; first < command.keys; first += blockKeys) {
    int64_t count = std::min(command.keys - first, blockKeys);
    std::fill(keyGradients, keyGradients + count * command.headSize, Sum(0));
    std::fill(valueGradients, valueGradients + count * command.valueSize,
              Sum(0));
    auto rowsOf = [&](const char *base, const AttentionOperand &operand,
                      int64_t columns, Sum *to) {
      int64_t step = operand.strides[2];
      return packed({base + first * step * elementBytes, step}, count, columns,
                    to);
    };
    Rows k = rowsOf(head.k, command.k, command.headSize, packedK);
    Rows v = rowsOf(head.v, command.v, command.valueSize, packedV);
    for (int64_t row = 0, rows = 0; row < command.queries; row += rows) {
      rows = this->rowsAlike(space, head.bias, row,
                             std::min(command.queries - row, blockRows));
      // The keys of the block that the first and the last of these rows see.
      int64_t key = std::max(first, this->seenBy(space, head.bias, row).first);
      int64_t end = std::min(
          first + count, this->seenBy(space, head.bias, row + rows - 1).end);
      if (key < end)
        addRows(head, row, rows, first, k, v, key, end - key);
    }
    write(keyGradients, count, command.headSize, command.gk, first, head.gk);
    write(valueGradients, count, command.valueSize, command.gv, first, head.gv);
  }
  write(queryGradients, command.queries, command.headSize, command.gq, 0,
        head.gq);
}

/// Adds what some queries and keys of a block, which begins at `firstKey`, do
/// to the gradients.
template <typename Sum>
void Backward<Sum>::addRows(const HeadAddresses &head, int64_t row,
                            int64_t rows, int64_t firstKey, Rows k, Rows v,
                            int64_t key, int64_t keys) {
  int64_t inBlock = key - firstKey;
  k.data += inBlock * k.step * sizeof(Sum);
  v.data += inBlock * v.step * sizeof(Sum);
  Sum scale = command.scale;
  auto rowsOf = [&](const char *base, const AttentionOperand &operand,
                    int64_t columns, Sum *to) {
    int64_t step = operand.strides[2];
    return packed({base + row * step * elementBytes, step}, rows, columns, to);
  };
  auto block = [&](const Sum *data) {
    return Rows{reinterpret_cast<const char *>(data), keys};
  };
  Rows q = rowsOf(head.q, command.q, command.headSize, packedQ);
  Rows go = rowsOf(head.go, command.go, command.valueSize, packedGo);
  multiplyRows<Sum>(rows, keys, command.headSize, scale, q, false, k, true, 0,
                    scores, keys);
  this->mask(space, head.bias, row, rows, key, keys, scores);
  multiplyRows<Sum>(rows, keys, command.valueSize, 1, go, false, v, true, 0,
                    products, keys);
  for (int64_t i = 0; i < rows; ++i) {
    auto number = [&](const char *base, const AttentionOperand &operand,
                      int64_t column) {
      return reinterpret_cast<const Sum *>(
          base)[(row + i) * operand.strides[2] + column];
    };
    Sum *weights = scores + i * keys;
    Sum maximum = number(head.lse, command.lse, 0),
        logarithm = number(head.lse, command.lse, 1);
    // Whatever the scores of a query that sees no key are.
    if (logarithm == std::numeric_limits<Sum>::infinity()) {
      std::fill(weights, weights + keys, Sum(0));
      std::fill(products + i * keys, products + (i + 1) * keys, Sum(0));
      continue;
    }
    // Beside what is added to scores the logarithm may have no digits.
    if (hasNumbers) {
      for (int64_t j = 0; j < keys; ++j)
        weights[j] -= maximum;
      exponentials(weights, keys, logarithm);
    } else {
      exponentials(weights, keys, maximum + logarithm);
    }
    weighted(weights, products + i * keys, keys,
             number(head.delta, command.delta, 0));
  }
  multiplyRows<Sum>(keys, command.valueSize, rows, 1, block(scores), true, go,
                    false, 1, valueGradients + inBlock * command.valueSize,
                    command.valueSize);
  multiplyRows<Sum>(keys, command.headSize, rows, scale, block(products), true,
                    q, false, 1, keyGradients + inBlock * command.headSize,
                    command.headSize);
  multiplyRows<Sum>(rows, command.headSize, keys, scale, block(products), false,
                    k, false, 1, queryGradients + row * command.headSize,
                    command.headSize);
}

template <typename Sum>
void Backward<Sum>::write(const Sum *from, int64_t count, int64_t columns,
                          const AttentionOperand &operand, int64_t first,
                          char *to) const {
  int64_t step = operand.strides[2] * byteSize(command.gradientType);
  for (int64_t i = 0; i < count; ++i) {
    const Sum *row = from + i * columns;
    char *written = to + (first + i) * step;
    if (command.gradientType == command.sumType())
      std::copy(row, row + columns, reinterpret_cast<Sum *>(written));
    else
      this->writeRow(row, columns, written);
  }
}

} // namespace

int64_t
tp::runtime::attentionBackwardScratch(const AttentionBackwardCommand &command) {
  AttentionBackwardAddresses none{};
  if (command.dtype == DataType::F64)
    return Backward<double>(command, none, nullptr).used * sizeof(double);
  return Backward<float>(command, none, nullptr).used * sizeof(float);
}

void tp::runtime::attentionBackward(const AttentionBackwardCommand &command,
                                    const AttentionBackwardAddresses &addresses,
                                    void *scratch) {
  if (command.dtype == DataType::F64)
    Backward<double>(command, addresses, scratch).run();
  else
    Backward<float>(command, addresses, scratch).run();
}

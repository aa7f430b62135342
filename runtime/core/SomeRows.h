//===- SomeRows.h - a product of some rows ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chosen rows of A are packed, multiplied as one matrix, and the sums put
// in their places. A block of them at a time bounds the memory; B is read once
// for a block.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_SOMEROWS_H
#define TP_RUNTIME_CORE_SOMEROWS_H

#include "Product.h"
#include <array>

namespace tp::runtime {

/// Those where `chosen[i * step]`.
struct Chosen {
  const bool *chosen;
  int64_t step;
  bool operator[](int64_t i) const { return chosen[i * step]; }
};

/// Calls `use` with the places of up to `most` of those of `size` that are
/// chosen, with how many these are, and with whether they follow each other,
/// until all were used.
template <int64_t most, typename Use>
void forEachBlock(Chosen chosen, int64_t size, Use use) {
  std::array<int64_t, most> places;
  int64_t count = 0;
  auto flush = [&] {
    if (count != 0)
      use(places.data(), count, places[count - 1] - places[0] == count - 1);
    count = 0;
  };
  for (int64_t i = 0; i < size; ++i) {
    if (!chosen[i])
      continue;
    places[count++] = i;
    if (count == most)
      flush();
  }
  flush();
}

/// The most rows that are multiplied at once.
constexpr int64_t mostPackedRows = 512;

/// The bytes that multiplyRows works in, for elements of these sizes.
constexpr int64_t packedRowsBytes(int64_t m, int64_t n, int64_t k,
                                  int64_t elementSize, int64_t sumSize) {
  int64_t rows = std::min(m, mostPackedRows);
  return (rows * k * elementSize + 63) / 64 * 64 + rows * n * sumSize;
}

/// Row `row` of op(A), side by side.
template <typename T>
void packRow(const T *a, MatrixForm form, int64_t row, int64_t k, T *to) {
  if (!form.transpose)
    std::copy_n(a + row * form.ld, k, to);
  else
    for (int64_t i = 0; i < k; ++i)
      to[i] = a[i * form.ld + row];
}

/// C = alpha * op(A) op(B) in the rows that are chosen; the others stay. Rows
/// of A that are not chosen are not read. `scratch` has packedRowsBytes and is
/// aligned to 64.
template <typename T, typename Sum, typename T2, typename Multiply>
void multiplyRows(Product<T, Sum, T2> p, Chosen rows, char *scratch,
                  Multiply multiply) {
  int64_t most = std::min(p.m, mostPackedRows);
  auto *packed = reinterpret_cast<T *>(scratch);
  auto *sums = reinterpret_cast<Sum *>(
      scratch + (most * p.k * int64_t(sizeof(T)) + 63) / 64 * 64);
  Product<T, Sum, T2> block = p;
  forEachBlock<mostPackedRows>(
      rows, p.m, [&](const int64_t *places, int64_t count, bool together) {
        block.m = count;
        // Rows that follow each other are where they should be.
        if (together) {
          block.a = p.a + places[0] * (p.aForm.transpose ? 1 : p.aForm.ld);
          block.aForm = p.aForm;
          block.c = p.c + places[0] * p.ldc;
          block.ldc = p.ldc;
          multiply(block);
          return;
        }
        for (int64_t i = 0; i < count; ++i)
          packRow(p.a, p.aForm, places[i], p.k, packed + i * p.k);
        block.a = packed;
        block.aForm = {false, std::max<int64_t>(p.k, 1)};
        block.c = sums;
        block.ldc = p.n;
        multiply(block);
        for (int64_t i = 0; i < count; ++i)
          std::copy_n(sums + i * p.n, p.n, p.c + places[i] * p.ldc);
      });
}

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_SOMEROWS_H

//===- RowBodies.h - products of few rows, for one set of instructions ----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of LoopBodies.h. Rows of A times rows of B, which come from memory.
// Some processors foresee what comes next in one stream, and lose their way in
// several at once: B is read row by row, 64 bytes at a time, as long as the
// rows of A stay in the first cache beside it; longer ones serve several rows
// of B. Others foresee little of a stream, and read several, each in pages of
// its own, half as fast again (readsStreams). For more rows of A tiles use what
// is loaded for several sums.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_ROWBODIES_H
#define TP_RUNTIME_CORE_ROWBODIES_H

namespace {

/// Whether words are split faster than elements are widened.
template <typename Type> constexpr bool splitsWords = false;
#ifndef __AVX512F__
template <> constexpr bool splitsWords<BFloats> = true;
#endif

/// The two elements of each word of memory, of which one becomes a float with a
/// shift and the other with a mask: those at even places, then those at odd
/// ones. In the order of memory they take a shuffle too.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
TP_INLINE Floats splitWords(const uint16_t *from) {
  typedef uint32_t HalfWords __attribute__((vector_size(32)));
  typedef HalfWords HalfWordsInMemory __attribute__((aligned(2), may_alias));
  HalfWords words = *reinterpret_cast<const HalfWordsInMemory *>(from);
  auto even = reinterpret_cast<Half>(words << 16);
  auto odd = reinterpret_cast<Half>(words & 0xffff0000u);
  return __builtin_shufflevector(even, odd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                 11, 12, 13, 14, 15);
}

/// Elements as bits.
template <typename Type> struct Narrow {
  using Element = uint16_t;
  static constexpr bool splits = splitsWords<Type>;
  TP_INLINE Floats widenFrom(const uint16_t *from) {
    return ::widenFrom<Type>(from);
  }
  /// Elements in the order in which they are widened fastest, and elements of
  /// A in the same order.
  TP_INLINE Floats widenInAnyOrder(const uint16_t *from) {
    if constexpr (splits)
      return splitWords(from);
    else
      return widenFrom(from);
  }
  TP_INLINE Floats inThatOrder(Floats values) {
    if constexpr (splits)
      return __builtin_shufflevector(values, values, 0, 2, 4, 6, 8, 10, 12, 14,
                                     1, 3, 5, 7, 9, 11, 13, 15);
    else
      return values;
  }
  TP_INLINE Pair widenPair(const uint16_t *from) {
    return ::widenPair<Type>(from);
  }
  TP_INLINE float widenOne(uint16_t bits) { return ::widenOne<Type>(bits); }
};

TP_INLINE float sumOf(Half half) {
  Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                    __builtin_shufflevector(half, half, 4, 5, 6, 7);
  quarter += __builtin_shufflevector(quarter, quarter, 2, 3, 0, 1);
  return quarter[0] + quarter[1];
}

TP_INLINE float sumOf(Floats values) {
  return sumOf(
      __builtin_shufflevector(values, values, 0, 1, 2, 3, 4, 5, 6, 7) +
      __builtin_shufflevector(values, values, 8, 9, 10, 11, 12, 13, 14, 15));
}

/// Some rows of A times some rows of B, two vectors of each at a time. Several
/// sums of one row hide the latency of additions. Where one row of B is all
/// that is read, many loads in a loop's body are foreseen best.
template <typename Type, int rows, int columns>
TP_INLINE void timesPairs(const float *a, int64_t lda, int64_t k,
                          const typename Type::Element *b, int64_t ldb,
                          float *sums, int64_t n) {
  constexpr int each = mostSums / (rows * columns);
  constexpr int parts = each < 1 ? 1 : each > 4 ? 4 : each;
  constexpr int steps = rows * columns == 1 ? 6 : columns == 1 ? 2 : 1;
  Floats total[rows][columns][parts] = {};
  int64_t l = 0;
  auto addPair = [&](int step) {
    Pair left[rows];
    for (int i = 0; i < rows; ++i)
      left[i] = loadPair(a + i * lda + l);
    for (int j = 0; j < columns; ++j) {
      Pair right = Type::widenPair(b + j * ldb + l);
      for (int i = 0; i < rows; ++i) {
        total[i][j][2 * step % parts] += left[i].first * right.first;
        total[i][j][(2 * step + 1) % parts] += left[i].second * right.second;
      }
    }
    l += 2 * width;
  };
  while (l + 2 * steps * width <= k)
    for (int step = 0; step < steps; ++step)
      addPair(step);
  while (l + 2 * width <= k)
    addPair(0);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      for (int part = 1; part < parts; ++part)
        total[i][j][0] += total[i][j][part];
      float sum = sumOf(total[i][j][0]);
      for (int64_t last = l; last < k; ++last)
        sum += a[i * lda + last] * Type::widenOne(b[j * ldb + last]);
      sums[i * n + j] += sum;
    }
}

/// Some rows of A times as many rows of B as there are streams, which are
/// `distance` apart; sums of one row of A are `step` apart.
template <typename Type, int rows, int streams>
TP_INLINE void timesStreams(const float *a, int64_t lda, int64_t k,
                            const typename Type::Element *b, int64_t distance,
                            float *sums, int64_t n, int64_t step) {
  Lanes parts[rows][streams] = {};
  int64_t l = 0;
  for (; l + width <= k; l += width) {
    Floats left[rows];
    for (int i = 0; i < rows; ++i)
      left[i] = Type::inThatOrder(load(a + i * lda + l));
    for (int s = 0; s < streams; ++s) {
      Floats right = Type::widenInAnyOrder(b + s * distance + l);
      for (int i = 0; i < rows; ++i)
        addProducts(parts[i][s], left[i], right);
    }
  }
  for (int s = 0; s < streams; ++s) {
    float rest[rows] = {};
    for (int64_t last = l; last < k; ++last) {
      float right = Type::widenOne(b[s * distance + last]);
      for (int i = 0; i < rows; ++i)
        rest[i] += a[i * lda + last] * right;
    }
    for (int i = 0; i < rows; ++i)
      sums[i * n + s * step] += sumOf(parts[i][s]) + rest[i];
  }
}

/// Some rows of A times some rows of B. Each element that is loaded serves
/// several sums.
template <typename Type, int rows, int columns>
TP_INLINE void timesRows(const float *a, int64_t lda, int64_t k,
                         const typename Type::Element *b, int64_t ldb,
                         float *sums, int64_t n) {
  Floats parts[rows][columns] = {};
  int64_t l = 0;
  for (; l + width <= k; l += width) {
    Floats right[columns];
    for (int j = 0; j < columns; ++j) {
      // The rows that come next.
      __builtin_prefetch(b + (j + columns) * ldb + l, 0, 2);
      right[j] = Type::widenFrom(b + j * ldb + l);
    }
    for (int i = 0; i < rows; ++i) {
      Floats left = load(a + i * lda + l);
      for (int j = 0; j < columns; ++j)
        parts[i][j] += left * right[j];
    }
  }
  for (int j = 0; j < columns; ++j) {
    float rest[rows] = {};
    for (int64_t last = l; last < k; ++last) {
      float right = Type::widenOne(b[j * ldb + last]);
      for (int i = 0; i < rows; ++i)
        rest[i] += a[i * lda + last] * right;
    }
    for (int i = 0; i < rows; ++i)
      sums[i * n + j] += sumOf(parts[i][j]) + rest[i];
  }
}

/// All rows of A times some rows of B, which come from memory once.
template <typename Type, int columns>
TP_INLINE void allTimesRows(const float *a, int64_t lda, int64_t m, int64_t k,
                            const typename Type::Element *b, int64_t ldb,
                            float *sums, int64_t n) {
  int64_t i = 0;
  for (; i + rowsAtOnce <= m; i += rowsAtOnce)
    timesRows<Type, rowsAtOnce, columns>(a + i * lda, lda, k, b, ldb,
                                         sums + i * n, n);
  for (; i < m; ++i)
    timesRows<Type, 1, columns>(a + i * lda, lda, k, b, ldb, sums + i * n, n);
}

/// Rows of A of as many elements stay in the first cache beside rows of B.
constexpr int64_t mostNear = 6144;

template <typename Type, int rows>
static void fewTimesRows(const float *a, int64_t lda, int64_t k,
                         const typename Type::Element *b, int64_t ldb,
                         int64_t n, float *sums, bool inStreams) {
  // Words that are split are added up so fast that the first cache tells: it
  // has eight places for rows at distances of 4,096 bytes, and A takes one.
  constexpr int most = Type::splits ? 6 : 8;
  constexpr int fitting = mostLanes / rows < most ? mostLanes / rows : most;
  constexpr int columns = fitting < 1 ? 1 : fitting;
  int64_t j = 0;
  if (columns > 1 && inStreams) {
    int64_t part = partOf(n, columns);
    for (; j < part; ++j)
      timesStreams<Type, rows, columns>(a, lda, k, b + j * ldb, part * ldb,
                                        sums + j, n, part);
    j = part * columns;
  } else if (rows > 1 && 4 * rows <= mostSums && k <= mostShort) {
    for (; j + 4 <= n; j += 4)
      timesFour<Type, rows>(a, lda, k, b + j * ldb, ldb, sums + j, n);
  } else if (rows * k > mostNear) {
    for (; j + columns <= n; j += columns)
      timesPairs<Type, rows, columns>(a, lda, k, b + j * ldb, ldb, sums + j, n);
  }
  for (; j < n; ++j)
    timesPairs<Type, rows, 1>(a, lda, k, b + j * ldb, ldb, sums + j, n);
}

template <typename Type>
static void addRowsTimesRows(const float *a, int64_t lda, int64_t m, int64_t k,
                             const typename Type::Element *b, int64_t ldb,
                             int64_t n, float *sums, bool inStreams) {
  switch (m) {
  case 1:
    return fewTimesRows<Type, 1>(a, lda, k, b, ldb, n, sums, inStreams);
  case 2:
    return fewTimesRows<Type, 2>(a, lda, k, b, ldb, n, sums, inStreams);
  case 3:
    return fewTimesRows<Type, 3>(a, lda, k, b, ldb, n, sums, inStreams);
  case 4:
    return fewTimesRows<Type, 4>(a, lda, k, b, ldb, n, sums, inStreams);
  }
  int64_t j = 0;
  for (; j + columnsAtOnce <= n; j += columnsAtOnce)
    allTimesRows<Type, columnsAtOnce>(a, lda, m, k, b + j * ldb, ldb, sums + j,
                                      n);
  for (; j < n; ++j)
    allTimesRows<Type, 1>(a, lda, m, k, b + j * ldb, ldb, sums + j, n);
}

} // namespace

#endif // TP_RUNTIME_CORE_ROWBODIES_H

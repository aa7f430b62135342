//===- HeadBodies.h - products with a head's rows ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of LoopBodies.h. A few queries times the keys of a head, and their
// weights times its values, which come from memory: rows of 64 or 128 elements.
// They are read once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_HEADBODIES_H
#define TP_RUNTIME_CORE_HEADBODIES_H

namespace {

/// The most elements of a row whose sum takes longer than its products.
constexpr int64_t mostShort = 256;

typedef float Quarter __attribute__((vector_size(16)));

/// The sums of four vectors: 8 permutations, where one by one takes 16.
TP_INLINE Quarter sumsOf(const Floats (&values)[4]) {
  // Lanes of four in which a sum follows the other.
  auto joined = [](Floats first, Floats second) {
    return __builtin_shufflevector(first, second, 0, 16, 1, 17, 4, 20, 5, 21, 8,
                                   24, 9, 25, 12, 28, 13, 29) +
           __builtin_shufflevector(first, second, 2, 18, 3, 19, 6, 22, 7, 23,
                                   10, 26, 11, 27, 14, 30, 15, 31);
  };
  Floats first = joined(values[0], values[1]),
         second = joined(values[2], values[3]);
  Floats all = __builtin_shufflevector(first, second, 0, 1, 16, 17, 4, 5, 20,
                                       21, 8, 9, 24, 25, 12, 13, 28, 29) +
               __builtin_shufflevector(first, second, 2, 3, 18, 19, 6, 7, 22,
                                       23, 10, 11, 26, 27, 14, 15, 30, 31);
  Half half = __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

/// Some rows of A times four rows of B, one after the other.
template <typename Type, int rows>
TP_INLINE void timesFour(const float *a, int64_t lda, int64_t k,
                         const typename Type::Element *b, int64_t ldb,
                         float *sums, int64_t n) {
  Floats total[rows][4] = {};
  float rest[rows][4] = {};
  for (int j = 0; j < 4; ++j) {
    const typename Type::Element *row = b + j * ldb;
    int64_t l = 0;
    for (; l + width <= k; l += width) {
      Floats right = Type::widenFrom(row + l);
      for (int i = 0; i < rows; ++i)
        total[i][j] += load(a + i * lda + l) * right;
    }
    for (; l < k; ++l)
      for (int i = 0; i < rows; ++i)
        rest[i][j] += a[i * lda + l] * Type::widenOne(row[l]);
  }
  for (int i = 0; i < rows; ++i) {
    Quarter each = sumsOf(total[i]);
    for (int j = 0; j < 4; ++j)
      sums[i * n + j] += each[j] + rest[i][j];
  }
}

/// Adds some rows of A times some vectors of each row of B, which are added up
/// apart: a sum of sums is nearer than one of many products.
template <int rows, int vectors>
TP_INLINE void addTimesVectors(const float *a, int64_t lda, int64_t k,
                               const float *b, int64_t ldb, float *sums,
                               int64_t n) {
  Floats total[rows][vectors] = {};
  for (int64_t l = 0; l < k; ++l)
    for (int v = 0; v < vectors; ++v) {
      Floats right = load(b + l * ldb + v * width);
      for (int i = 0; i < rows; ++i)
        total[i][v] += a[i * lda + l] * right;
    }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      store(load(sums + i * n + v * width) + total[i][v],
            sums + i * n + v * width);
}

/// Adds to `sums` some rows of A times as many rows of B as there are streams,
/// which are `distance` rows apart.
template <int rows, int streams>
TP_INLINE void addTimesStreams(const float *a, int64_t lda, const float *b,
                               int64_t ldb, int64_t distance, int64_t n,
                               float *sums) {
  int64_t j = 0;
  for (; j + width <= n; j += width) {
    Floats right[streams];
    for (int s = 0; s < streams; ++s)
      right[s] = load(b + s * distance * ldb + j);
    for (int i = 0; i < rows; ++i) {
      Floats sum = load(sums + i * n + j);
      for (int s = 0; s < streams; ++s)
        sum += a[i * lda + s * distance] * right[s];
      store(sum, sums + i * n + j);
    }
  }
  for (; j < n; ++j)
    for (int i = 0; i < rows; ++i)
      for (int s = 0; s < streams; ++s)
        sums[i * n + j] +=
            a[i * lda + s * distance] * b[s * distance * ldb + j];
}

// Rows of B that are added up apart.
constexpr int64_t rowsApart = 32;

/// With few registers the sums of some rows of B are in the first cache, and
/// whole rows are read, in several streams.
template <int rows>
static void fewTimesStreams(const float *a, int64_t lda, int64_t k,
                            const float *b, int64_t ldb, int64_t n,
                            float *sums) {
  constexpr int streams = rows < 4 ? 4 : 2;
  constexpr int64_t mostColumns = 256, near = rowsApart / streams;
  float apart[rows * mostColumns];
  int64_t part = partOf(k, streams);
  for (int64_t j = 0; j < n; j += mostColumns) {
    int64_t columns = n - j < mostColumns ? n - j : mostColumns;
    for (int64_t first = 0; first < part; first += near) {
      int64_t last = part - first < near ? part : first + near;
      __builtin_memset(apart, 0, rows * columns * sizeof(float));
      for (int64_t l = first; l < last; ++l)
        addTimesStreams<rows, streams>(a + l, lda, b + l * ldb + j, ldb, part,
                                       columns, apart);
      for (int i = 0; i < rows; ++i)
        for (int64_t c = 0; c < columns; ++c)
          sums[i * n + j + c] += apart[i * columns + c];
    }
    for (int i = 0; i < rows; ++i)
      for (int64_t l = part * streams; l < k; ++l)
        addTimesStreams<1, 1>(a + i * lda + l, lda, b + l * ldb + j, ldb, 0,
                              columns, sums + i * n + j);
  }
}

/// Whether registers hold the sums of all rows of A times rows of 64 elements.
constexpr bool holdsHeads = mostSums >= 4 * tp::runtime::veryFewRows;

template <int rows>
static void fewTimesColumns(const float *a, int64_t lda, int64_t k,
                            const float *b, int64_t ldb, int64_t n,
                            float *sums) {
  if constexpr (!holdsHeads)
    return fewTimesStreams<rows>(a, lda, k, b, ldb, n, sums);
  constexpr int vectors = mostSums / rows < 4 ? 1 : 4;
  for (int64_t first = 0; first < k; first += rowsApart) {
    int64_t depth = k - first < rowsApart ? k - first : rowsApart;
    const float *left = a + first, *right = b + first * ldb;
    int64_t j = 0;
    for (; j + vectors * width <= n; j += vectors * width)
      addTimesVectors<rows, vectors>(left, lda, depth, right + j, ldb, sums + j,
                                     n);
    for (; j + width <= n; j += width)
      addTimesVectors<rows, 1>(left, lda, depth, right + j, ldb, sums + j, n);
    for (; j < n; ++j)
      for (int64_t l = 0; l < depth; ++l)
        for (int i = 0; i < rows; ++i)
          sums[i * n + j] += left[i * lda + l] * right[l * ldb + j];
  }
}

static void addVeryFewTimesColumns(const float *a, int64_t lda, int64_t m,
                                   int64_t k, const float *b, int64_t ldb,
                                   int64_t n, float *sums) {
  switch (m) {
  case 1:
    return fewTimesColumns<1>(a, lda, k, b, ldb, n, sums);
  case 2:
    return fewTimesColumns<2>(a, lda, k, b, ldb, n, sums);
  case 3:
    return fewTimesColumns<3>(a, lda, k, b, ldb, n, sums);
  case 4:
    return fewTimesColumns<4>(a, lda, k, b, ldb, n, sums);
  }
}

} // namespace

#endif // TP_RUNTIME_CORE_HEADBODIES_H

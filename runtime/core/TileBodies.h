//===- TileBodies.h - products in tiles, for one set of instructions ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of LoopBodies.h. The sums of a tile of C stay in registers while the
// rows of B go by. Where A has many tiles of rows, B is a panel that was
// widened once; else each tile widens it in registers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_TILEBODIES_H
#define TP_RUNTIME_CORE_TILEBODIES_H

namespace {

// The sums, a row of B and an element of A fill the registers.
#if defined(__AVX512F__)
constexpr int tileRows = 12, tileVectors = 2;
#elif defined(__AVX2__)
constexpr int tileRows = 6, tileVectors = 1;
#else
constexpr int tileRows = 2, tileVectors = 1;
#endif
constexpr int64_t tileColumns = tileVectors * width;
static_assert(tp::runtime::mostPanelColumns % tileColumns == 0);
/// Widening B twice in registers is faster than once through the cache.
constexpr int64_t fewTileRows = 2 * tileRows;

/// A matrix whose rows are `ld` elements apart.
struct RowsOfA {
  const float *data;
  int64_t ld;
};

/// What becomes of the sums: c = alpha * sum + beta * c.
struct RowsOfC {
  float alpha, beta;
  float *data;
  int64_t ld;
};

template <int rows, int vectors>
TP_INLINE void addProducts(Floats (&sums)[rows][vectors], RowsOfA a, int64_t l,
                           const Floats (&right)[vectors]) {
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] += a.data[i * a.ld + l] * right[v];
}

template <int rows, int vectors>
TP_INLINE void write(Floats (&sums)[rows][vectors], RowsOfC c) {
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) {
      float *to = c.data + i * c.ld + v * width;
      Floats sum = c.alpha * sums[i][v];
      store(c.beta == 0 ? sum : sum + c.beta * load(to), to);
    }
}

/// The same for the first `columns` columns.
template <int rows, int vectors>
TP_INLINE void write(Floats (&sums)[rows][vectors], RowsOfC c,
                     int64_t columns) {
  if (columns >= vectors * width)
    return write(sums, c);
  float all[rows][vectors * width];
  write(sums, {c.alpha, 0, all[0], vectors * width});
  for (int i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float &to = c.data[i * c.ld + j];
      to = c.beta == 0 ? all[i][j] : all[i][j] + c.beta * to;
    }
}

template <int rows>
static void multiplyPanel(RowsOfA a, int64_t depth, const float *panel,
                          int64_t columns, RowsOfC c) {
  // They are there when the sums are.
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < tileVectors; ++v)
      __builtin_prefetch(c.data + i * c.ld + v * width, 1);
  Floats sums[rows][tileVectors] = {};
  for (int64_t l = 0; l < depth; ++l) {
    Floats right[tileVectors];
    for (int v = 0; v < tileVectors; ++v)
      right[v] = load(panel + l * tileColumns + v * width);
    addProducts(sums, a, l, right);
  }
  write(sums, c, columns);
}

template <typename Type, int rows>
static void multiplyColumns(RowsOfA a, int64_t depth, const uint16_t *b,
                            int64_t ldb, RowsOfC c) {
  Floats sums[rows][tileVectors] = {};
  for (int64_t l = 0; l < depth; ++l) {
    // Of the columns that come soon: no processor foresees steps of rows.
    __builtin_prefetch(b + l * ldb + 4 * width, 0, 2);
    Floats right[tileVectors];
    for (int v = 0; v < tileVectors; ++v)
      right[v] = widenFrom<Type>(b + l * ldb + v * width);
    addProducts(sums, a, l, right);
  }
  write(sums, c);
}

/// Fewer columns than a tile has.
template <typename Type, int rows>
static void multiplyRest(RowsOfA a, int64_t depth, const uint16_t *b,
                         int64_t ldb, int64_t columns, RowsOfC c) {
  Floats sums[rows][1] = {};
  for (int64_t l = 0; l < depth; ++l) {
    uint16_t row[width] = {};
    for (int64_t j = 0; j < columns; ++j)
      row[j] = b[l * ldb + j];
    Floats right[1] = {widenFrom<Type>(row)};
    addProducts(sums, a, l, right);
  }
  write(sums, c, columns);
}

template <typename Type, int rows>
static void multiplyAllColumns(RowsOfA a, int64_t depth, const uint16_t *b,
                               int64_t ldb, int64_t columns, RowsOfC c) {
  for (; columns >= tileColumns;
       columns -= tileColumns, b += tileColumns, c.data += tileColumns)
    multiplyColumns<Type, rows>(a, depth, b, ldb, c);
  for (; columns > 0; columns -= width, b += width, c.data += width)
    multiplyRest<Type, rows>(a, depth, b, ldb,
                             columns < width ? columns : width, c);
}

template <int most>
static void multiplyPanelRows(int64_t rows, RowsOfA a, int64_t depth,
                              const float *panel, int64_t columns, RowsOfC c) {
  if (rows == most)
    return multiplyPanel<most>(a, depth, panel, columns, c);
  if constexpr (most > 1)
    multiplyPanelRows<most - 1>(rows, a, depth, panel, columns, c);
}

template <typename Type, int most>
static void multiplyColumnsRows(int64_t rows, RowsOfA a, int64_t depth,
                                const uint16_t *b, int64_t ldb, int64_t columns,
                                RowsOfC c) {
  if (rows == most)
    return multiplyAllColumns<Type, most>(a, depth, b, ldb, columns, c);
  if constexpr (most > 1)
    multiplyColumnsRows<Type, most - 1>(rows, a, depth, b, ldb, columns, c);
}

/// Tiles differ by one row at most.
static void timesPanel(const float *a, int64_t lda, int64_t m, int64_t depth,
                       const float *panel, int64_t columns, float alpha,
                       float beta, float *c, int64_t ldc) {
  for (int64_t tiles = (m + tileRows - 1) / tileRows; tiles > 0; --tiles) {
    int64_t rows = (m + tiles - 1) / tiles;
    multiplyPanelRows<tileRows>(rows, {a, lda}, depth, panel, columns,
                                {alpha, beta, c, ldc});
    a += rows * lda;
    c += rows * ldc;
    m -= rows;
  }
}

template <typename Type>
static void timesColumns(const float *a, int64_t lda, int64_t m, int64_t depth,
                         const uint16_t *b, int64_t ldb, int64_t columns,
                         float alpha, float beta, float *c, int64_t ldc) {
  for (int64_t tiles = (m + tileRows - 1) / tileRows; tiles > 0; --tiles) {
    int64_t rows = (m + tiles - 1) / tiles;
    multiplyColumnsRows<Type, tileRows>(rows, {a, lda}, depth, b, ldb, columns,
                                        {alpha, beta, c, ldc});
    a += rows * lda;
    c += rows * ldc;
    m -= rows;
  }
}

/// A row of a panel.
template <typename Type>
TP_INLINE void widenRow(const uint16_t *from, float *to) {
  for (int v = 0; v < tileVectors; ++v)
    store(widenFrom<Type>(from + v * width), to + v * width);
}

template <typename Type>
static void widenPanels(const uint16_t *b, int64_t ldb, int64_t depth,
                        int64_t columns, float *panels) {
  for (int64_t l = 0; l < depth; ++l) {
    const uint16_t *from = b + l * ldb;
    float *to = panels + l * tileColumns;
    int64_t j = 0;
    for (; j + tileColumns <= columns; j += tileColumns) {
      // The next columns come from memory while these are multiplied.
      __builtin_prefetch(from + columns + j, 0, 2);
      widenRow<Type>(from + j, to);
      to += depth * tileColumns;
    }
    if (j == columns)
      continue;
    uint16_t rest[tileColumns] = {};
    for (int64_t i = 0; i < columns - j; ++i)
      rest[i] = from[j + i];
    widenRow<Type>(rest, to);
  }
}

} // namespace

#endif // TP_RUNTIME_CORE_TILEBODIES_H

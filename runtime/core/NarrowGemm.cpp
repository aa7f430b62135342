//===- NarrowGemm.cpp - products of f16 and bf16 matrices -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowGemm.h"
#include "VectorLoops.h"

using namespace tp::runtime;

namespace {

/// Up to this many rows, or columns, the loops for few are faster where the
/// other matrix is stored row by row: their sums go through the cache. Tiles
/// read a part of each row of B at a time.
constexpr int64_t fewRowsTimesColumns = 8;
/// Blocks of a product of few rows: a row of A, and columns of sums.
constexpr int64_t fewDepth = 2048, fewColumns = 1024, fewRowsOfB = 256;
/// Elements of A that are widened at once where its rows are longer than that:
/// the rows of B are read to their ends, one behind the other.
constexpr int64_t mostWidened = 65536;
/// Blocks of a product in tiles: rows of A, which stay in the second cache, and
/// columns of B, which come from there.
constexpr int64_t tilesRows = 384, tilesColumns = 64, tilesDepth = 512;
static_assert(tilesColumns % mostPanelColumns == 0);
/// Blocks of a product of many rows. Widening B takes a part of 1 / (2 m) of
/// the operations, and A of 1 / (2 blockColumns).
constexpr int64_t blockRows = 256, blockColumns = 512, blockDepth = 1024;

/// Elements of op(X), `rows` x `columns` from `row` and `column` on, widened
/// as they are stored and without gaps.
void widenBlock(const NarrowLoops &loops, const uint16_t *matrix,
                MatrixForm form, int64_t row, int64_t rows, int64_t column,
                int64_t columns, float *to) {
  if (form.transpose) {
    std::swap(row, column);
    std::swap(rows, columns);
  }
  for (int64_t i = 0; i < rows; ++i)
    loops.widen(matrix + (row + i) * form.ld + column, columns,
                to + i * columns);
}

/// op(A), m x `depth` from column `first` on, row-major.
void widenRows(const NarrowLoops &loops, const NarrowProduct &p, int64_t first,
               int64_t depth, float *to) {
  if (!p.aForm.transpose)
    return widenBlock(loops, p.a, p.aForm, 0, p.m, first, depth, to);
  for (int64_t l = 0; l < depth; ++l) {
    float row[mostFewRows];
    loops.widen(p.a + (first + l) * p.aForm.ld, p.m, row);
    for (int64_t i = 0; i < p.m; ++i)
      to[i * depth + l] = row[i];
  }
}

/// Columns of `rows` rows of A that are widened at once.
int64_t depthOfFew(int64_t rows, int64_t k) {
  return std::min(k, std::max(fewDepth, mostWidened / rows));
}

/// A product of at most mostFewRows rows. C has steps from one row and from one
/// column to the next.
void multiplyFew(const NarrowLoops &loops, const NarrowProduct &p,
                 int64_t rowStep, int64_t columnStep, float *scratch) {
  int64_t most = depthOfFew(p.m, p.k);
  float *rows = scratch, *sums = scratch + p.m * most;
  int64_t block = p.bForm.transpose ? fewRowsOfB : fewColumns;
  for (int64_t first = 0; first < p.k; first += most) {
    int64_t depth = std::min(p.k - first, most);
    widenRows(loops, p, first, depth, rows);
    float beta = first == 0 ? p.beta : 1.0f;
    for (int64_t column = 0; column < p.n; column += block) {
      int64_t columns = std::min(p.n - column, block);
      std::fill(sums, sums + p.m * columns, 0.0f);
      if (p.bForm.transpose)
        loops.addRowsTimesRows(rows, depth, p.m, depth,
                               p.b + column * p.bForm.ld + first, p.bForm.ld,
                               columns, sums, readsStreams());
      else
        loops.addRowsTimesColumns(rows, p.m, depth,
                                  p.b + first * p.bForm.ld + column, p.bForm.ld,
                                  columns, sums);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          float &c = p.c[i * rowStep + (column + j) * columnStep];
          float sum = p.alpha * sums[i * columns + j];
          c = beta == 0 ? sum : sum + beta * c;
        }
    }
  }
}

/// A product of matrices that are stored row by row, with tiles of C in
/// registers. A column of B is widened once for tilesRows rows, or for each of
/// a few tiles.
void multiplyTiles(const NarrowLoops &loops, const NarrowProduct &p,
                   float *scratch) {
  const TileLoops &tiles = loops.tiles;
  bool few = p.m <= tiles.fewRows;
  float *left = scratch;
  float *right = left + std::min(p.m, tilesRows) * std::min(p.k, tilesDepth);
  for (int64_t row = 0; row < p.m; row += tilesRows) {
    int64_t rows = std::min(p.m - row, tilesRows);
    for (int64_t first = 0; first < p.k; first += tilesDepth) {
      int64_t depth = std::min(p.k - first, tilesDepth);
      float beta = first == 0 ? p.beta : 1.0f;
      const uint16_t *b = p.b + first * p.bForm.ld;
      float *c = p.c + row * p.ldc;
      widenBlock(loops, p.a, p.aForm, row, rows, first, depth, left);
      if (few) {
        tiles.timesColumns(left, depth, rows, depth, b, p.bForm.ld, p.n,
                           p.alpha, beta, c, p.ldc);
        continue;
      }
      for (int64_t column = 0; column < p.n; column += tilesColumns) {
        int64_t columns = std::min(p.n - column, tilesColumns);
        tiles.widenPanels(b + column, p.bForm.ld, depth, columns, right);
        for (int64_t j = 0; j < columns; j += tiles.panelColumns)
          tiles.timesPanel(left, depth, rows, depth, right + j * depth,
                           std::min(columns - j, tiles.panelColumns), p.alpha,
                           beta, c + column + j, p.ldc);
      }
    }
  }
}

void multiplyMany(const NarrowLoops &loops, const NarrowProduct &p,
                  float *scratch) {
  float *right = scratch;
  float *left = right + std::min(p.k, blockDepth) * std::min(p.n, blockColumns);
  Product<float> part{};
  part.alpha = p.alpha;
  part.ldc = p.ldc;
  for (int64_t first = 0; first < p.k; first += blockDepth) {
    part.k = std::min(p.k - first, blockDepth);
    part.beta = first == 0 ? p.beta : 1.0f;
    for (int64_t column = 0; column < p.n; column += blockColumns) {
      part.n = std::min(p.n - column, blockColumns);
      widenBlock(loops, p.b, p.bForm, first, part.k, column, part.n, right);
      part.b = right;
      part.bForm = {p.bForm.transpose, p.bForm.transpose ? part.k : part.n};
      for (int64_t row = 0; row < p.m; row += blockRows) {
        part.m = std::min(p.m - row, blockRows);
        widenBlock(loops, p.a, p.aForm, row, part.m, first, part.k, left);
        part.a = left;
        part.aForm = {p.aForm.transpose, p.aForm.transpose ? part.m : part.k};
        part.c = p.c + row * p.ldc + column;
        multiply(part);
      }
    }
  }
}

/// C^T = op(B)^T op(A)^T, but for C, whose transpose is not row-major.
NarrowProduct transposed(const NarrowProduct &p) {
  NarrowProduct result = p;
  std::swap(result.m, result.n);
  std::swap(result.a, result.b);
  std::swap(result.aForm, result.bForm);
  result.aForm.transpose = !result.aForm.transpose;
  result.bForm.transpose = !result.bForm.transpose;
  return result;
}

bool isStoredByRows(const NarrowProduct &p) {
  return !p.aForm.transpose && !p.bForm.transpose;
}

bool hasFewRows(const NarrowProduct &p) {
  return p.bForm.transpose ? isOfFewRows(p.m, std::min(p.k, fewDepth))
                           : p.m <= fewRowsTimesColumns;
}

} // namespace

int64_t tp::runtime::narrowScratch(int64_t m, int64_t n, int64_t k) {
  // Whichever of the matrices has few rows.
  auto ofFew = [&](int64_t rows, int64_t columns) {
    return rows < 1 || rows > mostFewRows
               ? 0
               : rows * (depthOfFew(rows, k) + std::min(columns, fewColumns));
  };
  return std::max(
      {ofFew(m, n), ofFew(n, m),
       std::min(k, tilesDepth) * (std::min(m, tilesRows) + tilesColumns),
       std::min(k, blockDepth) *
           (std::min(m, blockRows) + std::min(n, blockColumns))});
}

void tp::runtime::multiplyNarrow(const NarrowProduct &product, NarrowType type,
                                 float *scratch) {
  const NarrowLoops &loops = narrowLoops(type);
  if (product.m <= product.n && hasFewRows(product))
    return multiplyFew(loops, product, product.ldc, 1, scratch);
  if (NarrowProduct swapped = transposed(product); hasFewRows(swapped))
    return multiplyFew(loops, swapped, 1, product.ldc, scratch);
  if (isStoredByRows(product))
    return multiplyTiles(loops, product, scratch);
  multiplyMany(loops, product, scratch);
}

//===- MixedGemm.cpp - products of f32 and a narrow matrix ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixedGemm.h"
#include "VectorLoops.h"

using namespace tp::runtime;

namespace {

/// Up to this many rows the loops for few are faster where B is stored row by
/// row: their sums go through the cache.
constexpr int64_t fewRowsTimesColumns = 8;
/// Blocks of such a product: a row of A, and columns of sums.
constexpr int64_t fewDepth = 2048, fewColumns = 1024;
/// Blocks of B that are widened for many rows.
constexpr int64_t blockColumns = 512, blockDepth = 1024;
/// Sums that are kept before they are scaled.
constexpr int64_t mostSums = 8192;
static_assert(mostSums >= mostFewRows);
static_assert(mostSums >= fewRowsTimesColumns * fewColumns);

/// Adds sums of m rows and `columns` columns, without gaps, to C from `first`
/// on.
void addToC(const MixedProduct &p, const float *sums, int64_t first,
            int64_t columns, float beta) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float &to = p.c[i * p.ldc + (first + j) * p.columnStep];
      float sum = p.alpha * sums[i * columns + j];
      to = beta == 0 ? sum : sum + beta * to;
    }
}

/// Few rows of A, each contiguous, and a B whose columns are stored one behind
/// the other.
void multiplyFewByRows(const NarrowLoops &loops, const MixedProduct &p) {
  float sums[mostSums];
  int64_t count = 0;
  for (int64_t first = 0; first < p.n; first += count) {
    count = std::min(p.n - first, mostSums / p.m);
    std::fill(sums, sums + p.m * count, 0.0f);
    loops.addRowsTimesRows(p.a, p.aForm.ld, p.m, p.k, p.b + first * p.bForm.ld,
                           p.bForm.ld, count, sums, readsStreams());
    addToC(p, sums, first, count, p.beta);
  }
}

/// Very few rows of A and a B that is stored row by row.
void multiplyFewByColumns(const NarrowLoops &loops, const MixedProduct &p,
                          float *scratch) {
  float sums[mostSums];
  for (int64_t first = 0; first < p.k; first += fewDepth) {
    int64_t depth = std::min(p.k - first, fewDepth);
    int64_t rowStep = p.aForm.transpose ? 1 : p.aForm.ld;
    int64_t depthStep = p.aForm.transpose ? p.aForm.ld : 1;
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t l = 0; l < depth; ++l)
        scratch[i * depth + l] = p.a[i * rowStep + (first + l) * depthStep];
    for (int64_t column = 0; column < p.n; column += fewColumns) {
      int64_t columns = std::min(p.n - column, fewColumns);
      std::fill(sums, sums + p.m * columns, 0.0f);
      loops.addRowsTimesColumns(scratch, p.m, depth,
                                p.b + first * p.bForm.ld + column, p.bForm.ld,
                                columns, sums);
      addToC(p, sums, column, columns, first == 0 ? p.beta : 1.0f);
    }
  }
}

/// Widens blocks of B as they are stored, and multiplies them by the library.
void multiplyMany(const NarrowLoops &loops, const MixedProduct &p,
                  float *scratch) {
  Product<float> part{};
  part.alpha = p.alpha;
  bool byRows = p.columnStep == 1;
  for (int64_t first = 0; first < p.k; first += blockDepth) {
    part.k = std::min(p.k - first, blockDepth);
    part.beta = first == 0 ? p.beta : 1.0f;
    const float *a = p.a + first * (p.aForm.transpose ? p.aForm.ld : 1);
    for (int64_t column = 0; column < p.n; column += blockColumns) {
      int64_t columns = std::min(p.n - column, blockColumns);
      int64_t rows = p.bForm.transpose ? columns : part.k;
      int64_t length = p.bForm.transpose ? part.k : columns;
      const uint16_t *b =
          p.b + (p.bForm.transpose ? column * p.bForm.ld + first
                                   : first * p.bForm.ld + column);
      for (int64_t row = 0; row < rows; ++row)
        loops.widen(b + row * p.bForm.ld, length, scratch + row * length);
      MatrixForm block{p.bForm.transpose, length};
      if (byRows) {
        part.m = p.m;
        part.n = columns;
        part.a = a;
        part.aForm = p.aForm;
        part.b = scratch;
        part.bForm = block;
      } else {
        // The rows of C^T.
        part.m = columns;
        part.n = p.m;
        part.a = scratch;
        part.aForm = {!block.transpose, block.ld};
        part.b = a;
        part.bForm = {!p.aForm.transpose, p.aForm.ld};
      }
      // A single row has no next one.
      part.ldc = std::max(byRows ? p.ldc : p.columnStep, part.n);
      part.c = p.c + column * p.columnStep;
      multiply(part);
    }
  }
}

} // namespace

int64_t tp::runtime::mixedScratch(int64_t m, int64_t n, int64_t k) {
  return std::max(std::min(m, fewRowsTimesColumns) * std::min(k, fewDepth),
                  std::min(k, blockDepth) * std::min(n, blockColumns));
}

void tp::runtime::multiplyMixed(const MixedProduct &product, NarrowType type,
                                float *scratch) {
  const NarrowLoops &loops = narrowLoops(type);
  // The only row may be stored as a column.
  bool hasRows =
      !product.aForm.transpose || (product.m == 1 && product.aForm.ld == 1);
  if (product.bForm.transpose && hasRows && isOfFewRows(product.m, product.k))
    return multiplyFewByRows(loops, product);
  if (!product.bForm.transpose && product.m <= fewRowsTimesColumns)
    return multiplyFewByColumns(loops, product, scratch);
  multiplyMany(loops, product, scratch);
}

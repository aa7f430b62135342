//===- VectorLoops.h - loops for each set of instructions -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_VECTORLOOPS_H
#define TP_RUNTIME_CORE_VECTORLOOPS_H

#include <cstdint>

namespace tp::runtime {

/// So many rows of A that reading B is all that counts.
constexpr int64_t veryFewRows = 4;

/// The most columns of a panel, of any set of instructions.
constexpr int64_t mostPanelColumns = 32;

/// Products in tiles of C that stay in registers. `columns` is a number of
/// columns of B and of C.
struct TileLoops {
  /// Of a panel: this many columns of B, widened, row by row.
  int64_t panelColumns;
  /// The rows of A for which B need not be widened before.
  int64_t fewRows;
  /// Columns of B as panels one behind the other. Behind the last column the
  /// last panel has zeros.
  void (*widenPanels)(const uint16_t *b, int64_t ldb, int64_t depth,
                      int64_t columns, float *panels);
  /// c[i * ldc + j] = alpha * sum over l of a[i * lda + l] * b[l, j]
  ///                  + beta * c[i * ldc + j],
  /// with i below m, l below depth and j below columns, at most those of a
  /// panel. With beta 0 C is not read.
  void (*timesPanel)(const float *a, int64_t lda, int64_t m, int64_t depth,
                     const float *panel, int64_t columns, float alpha,
                     float beta, float *c, int64_t ldc);
  /// The same with B as it is, of any number of columns.
  void (*timesColumns)(const float *a, int64_t lda, int64_t m, int64_t depth,
                       const uint16_t *b, int64_t ldb, int64_t columns,
                       float alpha, float beta, float *c, int64_t ldc);
};

/// Elements are the bits of f16 or bf16. Each is widened exactly, denormal
/// numbers included; products and sums are f32.
struct NarrowLoops {
  /// to[i] = from[i], of `count` elements.
  void (*widen)(const uint16_t *from, int64_t count, float *to);
  /// to[i] = from[i] rounded to nearest even; NaN stays NaN. Null where these
  /// instructions have no rounding to f16.
  void (*round)(const float *from, int64_t count, uint16_t *to);
  /// sums[i * n + j] += sum over l of a[i * lda + l] * b[j * ldb + l], with i
  /// below m, j below n and l below k. Of very few rows of A B is read in
  /// several streams, or in one.
  void (*addRowsTimesRows)(const float *a, int64_t lda, int64_t m, int64_t k,
                           const uint16_t *b, int64_t ldb, int64_t n,
                           float *sums, bool inStreams);
  /// sums[i * n + j] += sum over l of a[i * k + l] * b[l * ldb + j].
  void (*addRowsTimesColumns)(const float *a, int64_t m, int64_t k,
                              const uint16_t *b, int64_t ldb, int64_t n,
                              float *sums);
  TileLoops tiles;
};

struct SoftmaxLoops {
  /// The largest number of a row, minus infinity if there is none; NaN does not
  /// count.
  float (*maximum)(const float *row, int64_t count);
  /// row[i] = exp(row[i] - shift), where that is at most 1; returns their sum.
  /// Within 2 units in the last place (the polynomial of Cephes's expf); what
  /// is below 1.2e-38 becomes 0. NaN stays NaN.
  float (*exponentials)(float *row, int64_t count, float shift);
  /// products[i] = weights[i] * (products[i] - mean).
  void (*gradient)(const float *weights, float *products, int64_t count,
                   float mean);
};

struct VectorLoops {
  NarrowLoops f16, bf16;
  /// NarrowLoops::addRowsTimesRows of f32.
  void (*addRowsTimesRows)(const float *a, int64_t lda, int64_t m, int64_t k,
                           const float *b, int64_t ldb, int64_t n, float *sums,
                           bool inStreams);
  /// sums[i * n + j] += sum over l of a[i * lda + l] * b[l * ldb + j], with i
  /// below m, which is at most veryFewRows.
  void (*addVeryFewTimesColumns)(const float *a, int64_t lda, int64_t m,
                                 int64_t k, const float *b, int64_t ldb,
                                 int64_t n, float *sums);
  SoftmaxLoops softmax;
  /// The most rows for which addRowsTimesRows is faster than a library, where
  /// all else says so (isOfFewRows).
  int64_t mostRows;
};

/// Whether the loops for few rows are faster than a library where A has `rows`
/// rows of `k` elements (bench/products): A stays in the second cache while B
/// comes from memory, and what is added up is long beside the last step, which
/// adds the elements of a vector. Of very few rows B is all that counts.
bool isOfFewRows(int64_t rows, int64_t k);

/// Whether this processor reads memory fastest in several streams, as Intel's
/// and older ones of AMD do.
bool readsStreams();

/// Those in the widest instructions of this processor.
const VectorLoops &vectorLoops();

enum class NarrowType { F16, BF16 };
const NarrowLoops &narrowLoops(NarrowType type);

/// Those of one set of instructions each. A file that is compiled for more than
/// the oldest processor defines nothing but static functions and these: an
/// inline function in it might be linked for all.
const VectorLoops *vectorLoopsOfAny();
const VectorLoops *vectorLoopsOfAvx2();
const VectorLoops *vectorLoopsOfAvx512();

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_VECTORLOOPS_H

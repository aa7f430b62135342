//===- MixedGemm.h - products of f32 and a narrow matrix --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights that are stored in f16 or bf16 meet activations of f32. A product of
// few rows is bound by reading the weights, of which it reads half the bytes:
// each element is widened in a register and used for all rows. A product of
// many rows widens blocks of the weights, which stay in the cache, and calls
// the library for f32.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_MIXEDGEMM_H
#define TP_RUNTIME_CORE_MIXEDGEMM_H

#include "Product.h"
#include "VectorLoops.h"

namespace tp::runtime {

/// C = alpha * op(A) op(B) + beta * C, with A of m x k in f32 and B of k x n,
/// whose elements are the bits of f16 or bf16. C is f32 and has steps from one
/// row and from one column to the next, one of which is 1. With beta 0 C is not
/// read.
struct MixedProduct {
  int64_t m, n, k;
  float alpha;
  const float *a;
  MatrixForm aForm;
  const uint16_t *b;
  MatrixForm bForm;
  float beta;
  float *c;
  int64_t rowStep, columnStep;
};

/// The floats that multiplyMixed needs for a product of these sizes, at most
/// 2 MiB.
int64_t mixedScratch(int64_t m, int64_t n, int64_t k);

/// Elements of B are widened exactly; products and sums are f32. `scratch` has
/// mixedScratch floats.
void multiplyMixed(const MixedProduct &product, NarrowType type,
                   float *scratch);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_MIXEDGEMM_H

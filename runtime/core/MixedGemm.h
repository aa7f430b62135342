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

/// A is f32, the elements of B are the bits of f16 or bf16. `ldc` is the step
/// from one row of C to the next; it or `columnStep` is 1.
struct MixedProduct : Product<float, float, uint16_t> {
  /// Elements from one column of C to the next.
  int64_t columnStep;
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

//===- NarrowGemm.h - products of f16 and bf16 matrices ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Debian's libraries have no product of f16 or bf16 for any processor. A
// product of few rows is bound by reading the other matrix: each element is
// widened in a register and used for all rows. A product of many rows widens
// blocks of both matrices, which stay in the cache, and multiplies them with
// the library for f32.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_NARROWGEMM_H
#define TP_RUNTIME_CORE_NARROWGEMM_H

#include "Product.h"
#include "VectorLoops.h"

namespace tp::runtime {

/// A product whose elements are the bits of f16 or bf16.
using NarrowProduct = Product<uint16_t, float>;

/// The floats that multiplyNarrow needs for a product of these sizes, at most
/// 3 MiB.
int64_t narrowScratch(int64_t m, int64_t n, int64_t k);

/// Products and sums are f32; C is rounded nowhere. `scratch` has
/// narrowScratch floats.
void multiplyNarrow(const NarrowProduct &product, NarrowType type,
                    float *scratch);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_NARROWGEMM_H

//===- Gemm.h - matrix products by a library --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_GEMM_H
#define TP_RUNTIME_CORE_GEMM_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// What a rank computes of a product: the first columns of C, of as many terms.
struct GemmSizes {
  int64_t columns, terms;
};

/// The memory of a product's operands.
struct GemmBuffers {
  const void *a, *b;
  void *c;
  /// Null, or which rows of C are computed; the others stay.
  const bool *rows = nullptr;
  /// Null, or which columns of op(A) and rows of op(B) are multiplied.
  const bool *terms = nullptr;
  /// Null, or which matrix of a table each B is.
  const int64_t *places = nullptr;
};

/// C[b] = alpha * op(A[b]) op(B[b]) + beta * C[b] over all batch indices, with
/// the n and the k of `sizes`. With beta 0 C is not read. A and B are f64, f32,
/// f16 or bf16; the sums and C are f64 for f64, else f32. `scratch` has
/// gemmScratch bytes and is aligned to 64. Runs on the calling thread alone;
/// see useOneThreadPerRank.
void gemm(const GemmCommand &command, GemmSizes sizes,
          const GemmBuffers &buffers, void *scratch);

/// The bytes that gemm works in for `command`: some for f16 and bf16, and where
/// it computes some rows or multiplies some terms.
int64_t gemmScratch(const GemmCommand &command);

/// Tells the libraries behind gemm that the calling thread's products are
/// computed by that thread: ranks are the parallelism.
void useOneThreadPerRank();

/// The libraries this build calls, "f32 oneDNN, f64 OpenBLAS" say.
const char *gemmLibraries();

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_GEMM_H

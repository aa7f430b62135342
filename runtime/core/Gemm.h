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

/// C[b] = alpha * op(A[b]) op(B[b]) + beta * C[b] over all batch indices, with
/// the k of `rank`. With beta 0 C is not read. A and B are f64, f32, f16 or
/// bf16; the sums and C are f64 for f64, else f32. `rows` is null, or says
/// which rows of C are computed; the others stay. `scratch` has gemmScratch
/// bytes and is aligned to 64. Runs on the calling thread alone; see
/// useOneThreadPerRank.
void gemm(const GemmCommand &command, const Coordinates &rank, const void *a,
          const void *b, void *c, const bool *rows, void *scratch);

/// The bytes that gemm works in for `command`: some for f16 and bf16, and where
/// it computes some rows.
int64_t gemmScratch(const GemmCommand &command);

/// Tells the libraries behind gemm that the calling thread's products are
/// computed by that thread: ranks are the parallelism.
void useOneThreadPerRank();

/// The libraries this build calls, "f32 oneDNN, f64 OpenBLAS" say.
const char *gemmLibraries();

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_GEMM_H

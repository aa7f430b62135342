//===- GemmLoops.h - a GEMM from the loops of a contraction -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_GEMM_GEMMLOOPS_H
#define TP_LIB_CODEGEN_GEMM_GEMMLOOPS_H

#include "Storage/Storage.h"

namespace tp::target {

/// One loop: its extent and its stride in A, B, C, and in what an epilogue
/// adds, or what says which rows and matrices are multiplied.
struct GemmLoop {
  int64_t extent;
  /// Of A, B and C, of up to two terms of an epilogue, and of what chooses rows,
  /// terms and matrices of a table.
  int64_t stride[8];
  /// Which one it is, before loops join.
  size_t dim = 0;
};

/// An operand that says what is multiplied, and its place among the strides.
struct Chooser {
  GemmOperand operand;
  int term;
};

/// What a GEMM has beside A, B and C.
struct GemmExtras {
  /// Of an epilogue: added, in this order among the strides.
  llvm::ArrayRef<GemmOperand> terms;
  std::optional<Chooser> rows, chosenTerms, places;
};

/// The loops of a contraction by their kinds.
struct LoopsByKind {
  llvm::SmallVector<GemmLoop> m, n, k, batch;
};

/// Fills in sizes, strides and operands of `gemm`. False if the addresses of
/// its operands are no matrices.
bool assembleGemm(Gemm &gemm, LoopsByKind loops, const GemmExtras &extras);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_GEMM_GEMMLOOPS_H

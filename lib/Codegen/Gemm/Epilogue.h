//===- Epilogue.h - what a GEMM does to its sums ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM of some libraries adds a matrix and a vector to its sums, applies a
// function to every element, and rounds, before it writes: what would be a
// kernel that reads and writes the whole result costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_GEMM_EPILOGUE_H
#define TP_LIB_CODEGEN_GEMM_EPILOGUE_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tp::target {

/// Added to every sum: the element of `value` at index(index of the sum).
struct EpilogueTerm {
  mlir::Value value;
  mlir::AffineMap index;
};

/// What is written: gelu(sum + terms), rounded once to the result's type.
struct Epilogue {
  llvm::SmallVector<EpilogueTerm, 2> terms;
  /// The contraction's init is one of the terms.
  bool takesInit = false;
  /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as cuBLASLt's
  /// CUBLASLT_EPILOGUE_GELU.
  bool gelu = false;
  /// The values between the sum and the result; nothing else reads them.
  llvm::SmallVector<mlir::Value> within;
  /// The index in the result of a sum's index.
  mlir::AffineMap resultIndex;

  bool empty() const { return terms.empty() && !gelu; }
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_GEMM_EPILOGUE_H

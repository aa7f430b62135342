//===- IndexExpr.h - index expressions with known ranges --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Affine index expressions over loop dimensions (dims) and run-time scalars
// (symbols) whose ranges are known. Views, reshapes and storage orders become
// such expressions; knowing the ranges, div and mod of a reshape cancel.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_INDEXEXPR_H
#define TP_LIB_CODEGEN_ELEMENTS_INDEXEXPR_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tp::target {

using Indices = llvm::SmallVector<mlir::AffineExpr, 4>;

/// An inclusive range; empty when hi < lo.
struct IndexRange {
  int64_t lo = 0, hi = 0;
};

/// The ranges of the dims and symbols that an expression may use.
struct IndexSpace {
  llvm::SmallVector<IndexRange> dims, symbols;

  static IndexSpace ofExtents(llvm::ArrayRef<int64_t> extents);
};

IndexRange rangeOf(mlir::AffineExpr expr, const IndexSpace &space);

/// An equal expression, with div and mod resolved where the ranges allow it.
mlir::AffineExpr simplify(mlir::AffineExpr expr, const IndexSpace &space);
Indices simplify(llvm::ArrayRef<mlir::AffineExpr> exprs,
                 const IndexSpace &space);

/// Replaces dims by `dims` and symbols by `symbols` in every result of `map`.
Indices applyMap(mlir::AffineMap map, llvm::ArrayRef<mlir::AffineExpr> dims,
                 llvm::ArrayRef<mlir::AffineExpr> symbols,
                 const IndexSpace &space);

/// constant + sum of dimStrides[i] * d_i + sum of symbolStrides[i] * s_i.
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> dimStrides, symbolStrides;
};

/// The linear form of a simplified expression; none if div or mod is left.
std::optional<LinearForm> linearForm(mlir::AffineExpr expr, unsigned numDims,
                                     unsigned numSymbols);

/// Collects, per dim, the sizes at which div and mod of that dim alone cut it.
void collectCuts(mlir::AffineExpr expr,
                 llvm::MutableArrayRef<llvm::SmallVector<int64_t>> cuts);

/// Loop dimensions after splitting each dim at its cuts. `old[i]` is the old
/// dim i over the new dims; `owner[j]` the old dim that the new dim j is part
/// of.
struct Refinement {
  llvm::SmallVector<int64_t> extents;
  Indices old;
  llvm::SmallVector<unsigned> owner;
  bool changed = false;

  /// Every dim as it is.
  static Refinement none(llvm::ArrayRef<int64_t> extents,
                         mlir::MLIRContext *context);
  /// Splits the new dims further, as `refine` does. Returns whether one is.
  bool splitAt(llvm::ArrayRef<llvm::SmallVector<int64_t>> cuts,
               mlir::MLIRContext *context);
};

/// Splits dims at those cuts that form a chain of divisors of the extent.
Refinement refine(llvm::ArrayRef<int64_t> extents,
                  llvm::ArrayRef<llvm::SmallVector<int64_t>> cuts,
                  mlir::MLIRContext *context);

/// The row-major element address of an index into an array of `shape`.
mlir::AffineMap rowMajor(llvm::ArrayRef<int64_t> shape,
                         mlir::MLIRContext *context);

/// The identity indices of an iteration space of `rank` dims.
Indices identityIndices(unsigned rank, mlir::MLIRContext *context);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_INDEXEXPR_H

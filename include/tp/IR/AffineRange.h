//===- AffineRange.h - affine expressions over known ranges -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value of affine expressions: at one point, over a box of points, and as
// arithmetic ops. The divisions round as affine expressions define it: floordiv
// down, ceildiv up, and mod is never negative.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_AFFINERANGE_H
#define TP_IR_AFFINERANGE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tp {

/// The least and the largest value.
struct AffineBounds {
  int64_t lo = 0, hi = 0;
};

/// The bounds of a dim or a symbol.
using BoundsOfLeaf = llvm::function_ref<AffineBounds(mlir::AffineExpr)>;

/// A constant and multiples of terms; no term is a sum or a multiple.
struct AffineSum {
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> terms;
  int64_t constant = 0;

  static AffineSum of(mlir::AffineExpr expr);
  void add(mlir::AffineExpr base, int64_t factor);
  /// Adds `factor` times `expr`, taken apart.
  void addAll(mlir::AffineExpr expr, int64_t factor);
};

/// Bounds of all values of `expr`, clamped to 62 bits. A division by a number
/// that may be 0 has no bounds.
AffineBounds boundsOf(mlir::AffineExpr expr, BoundsOfLeaf leaf);
AffineBounds boundsOf(const AffineSum &sum, BoundsOfLeaf leaf);

/// Bounds are clamped to this number.
inline constexpr int64_t largestBound = int64_t(1) << 62;

/// The value of `expr` where `leaf` gives that of every dim and symbol; none
/// where it divides by 0, takes a remainder by less than 1, or overflows.
std::optional<int64_t>
valueOf(mlir::AffineExpr expr,
        llvm::function_ref<int64_t(mlir::AffineExpr)> leaf);

/// Ops of arith that compute `expr` as a number of `type`, an integer type or
/// index; `leaf` gives the value of a dim or a symbol. What is never negative
/// by `bounds` is divided as an unsigned number.
mlir::Value emitAffine(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Type type, mlir::AffineExpr expr,
                       BoundsOfLeaf bounds,
                       llvm::function_ref<mlir::Value(mlir::AffineExpr)> leaf);

} // namespace tp

#endif // TP_IR_AFFINERANGE_H

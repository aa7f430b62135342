//===- MergeableProduct.h - a product with a weight of its own --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction of a value and a parameter that nothing else reads, as
// tp-merge-gemms needs it: C[m, n] = sum over k of A[m, k] W[n, k]. Every one
// of m, n and k may be several loops.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_GEMM_MERGEABLEPRODUCT_H
#define TP_LIB_CODEGEN_GEMM_MERGEABLEPRODUCT_H

#include "Storage/Storage.h"

namespace tp::target {

struct MergeableProduct {
  mlir::linalg::LinalgOp op;
  /// Rounds the sums to the operands' type; null where nothing does.
  mlir::linalg::LinalgOp round;
  mlir::OpOperand *a = nullptr, *b = nullptr;
  mlir::BlockArgument weight;
  /// The order of the weight's dimensions in which those of n come first, then
  /// those of k.
  llvm::SmallVector<int64_t> permutation;
  /// Loops of the op. Of m in the order of A's dimensions, of n and k in the
  /// order of the weight in memory.
  llvm::SmallVector<unsigned> m, n, k;
  llvm::SmallVector<int64_t> extents;
  bool widens = false;
  /// What the sums start from.
  mlir::TypedAttr init;

  int64_t rows() const;
  /// What readers read: the sums, or the rounded sums.
  mlir::Value result() const;
  /// Whether one product does both: they read one A alike, and compute alike.
  bool mergesWith(const MergeableProduct &other) const;
};

/// The product that `op` is. None where something stands against a merge: the
/// weight is no parameter, it is read elsewhere too or updated (a number in
/// `updated`), the shapes are of another form, iterations are masked, a
/// collective or the caller reads the result, or the target's GEMM has an
/// epilogue for it.
std::optional<MergeableProduct>
mergeableProduct(mlir::Operation *op,
                 const llvm::MapVector<unsigned, unsigned> &updated,
                 const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_GEMM_MERGEABLEPRODUCT_H

//===- ParameterView.h - what is read of a parameter ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_PARAMETERVIEW_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_PARAMETERVIEW_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace tp {

/// A value that is a view of a parameter, and the parameter's dimension that
/// each of its dimensions is (part of); -1: none. Below that it is several,
/// which a reshape has merged (mergedDims).
struct ParameterView {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
  /// The dimension of the parameter along which the value is one slice.
  std::optional<unsigned> stackedDim = std::nullopt;
  /// The dimension of the parameter along which the value is some of many, as
  /// the first layers of a stack. What reads the weight of one of them has the
  /// same `stackedDim`.
  std::optional<unsigned> partOf = std::nullopt;
};

/// The parameter's dimensions that a dimension of a view is, as bits.
inline uint64_t bitsOfDims(int64_t dim) {
  return dim >= 0 ? uint64_t(1) << dim : uint64_t(-1 - dim);
}
/// The reverse.
inline int64_t mergedDims(uint64_t bits) {
  return llvm::isPowerOf2_64(bits) ? llvm::countr_zero(bits)
                                   : -1 - int64_t(bits);
}

/// `view` seen through `op`, or nothing where `op` is not a view of it.
std::optional<ParameterView> follow(const ParameterView &view,
                                    mlir::Operation *op);

/// The input of a generic that only casts, broadcasts or permutes it.
mlir::OpOperand *copiedInput(mlir::linalg::LinalgOp op);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_PARAMETERVIEW_H

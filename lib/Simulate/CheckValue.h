//===- CheckValue.h - local values against global ones ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_CHECKVALUE_H
#define TP_SIMULATE_CHECKVALUE_H

#include "tp/IR/TP.h"
#include "tp/Interpreter/TensorData.h"

namespace tp::simulator {

/// One value, as the program as a whole has it and as the ranks have it.
struct CheckedValue {
  mlir::Operation *op = nullptr;
  /// What messages call the value: `result 0`.
  std::string name;
  LayoutAttr layout;
  const TensorData &expected;
  llvm::MutableArrayRef<TensorData> buffers;
  /// Accept differences that come from another order of accumulation.
  bool allowRounding = false;
  /// With that: sums of absolute values that went into every element, where
  /// they are known.
  llvm::ArrayRef<double> magnitudes = {};
  /// The most numbers that were combined into one on the way here.
  double longestReduction = 1;
  /// The type that partial values on the way here were rounded to, if one was
  /// coarser than the value's own; or null.
  mlir::Type coarsest = {};
};

/// What ranks' partial values were rounded to. Other values are the exact ones
/// again once they are checked, so nothing of their past shows in them.
class PartialRounding {
public:
  /// The coarsest floating type behind the partial operands of `op`, or null.
  mlir::Type behind(mlir::Operation &op) const;
  /// `value` is made by `op` and partial, or of unknown layout.
  void carry(mlir::Operation &op, mlir::Value value, bool isPartial);
  void settle(mlir::Value value) { types.erase(value); }

private:
  llvm::DenseMap<mlir::Value, mlir::Type> types;
};

/// Checks that every rank's buffer is the layout's part of the global value, or
/// that the ranks' partial values combine to it. The first difference is an
/// error at the op.
mlir::LogicalResult checkValue(const CheckedValue &value);

/// True if there is at least one number and all are NaN.
bool isNaNThroughout(const TensorData &array);

/// Replaces what passed the check by the exact global value, so that rounding
/// does not add up over the program, and fills padding with poison. Partial
/// values keep their numbers.
void settle(const CheckedValue &value);

} // namespace tp::simulator

#endif // TP_SIMULATE_CHECKVALUE_H

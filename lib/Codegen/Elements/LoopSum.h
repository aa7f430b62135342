//===- LoopSum.h - an integer as a loop's index and a scalar ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an index is compared with a number known at run time only, one index
// can be equal to it: solved for the index, the comparison tells which.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_LOOPSUM_H
#define TP_LIB_CODEGEN_ELEMENTS_LOOPSUM_H

#include "mlir/IR/Builders.h"

namespace tp::target {

/// An integer: the index of a loop, if any, plus a scalar, if any, in the
/// integer's type.
struct LoopSum {
  std::optional<unsigned> loop;
  mlir::Value scalar;
};

/// What the op of arith `op`, of one result, makes of `operands`; none where
/// that is no such sum, or where it wraps around as no index does. `extentOf`
/// says how often a loop runs. Scalars are computed where `builder` stands.
std::optional<LoopSum>
sumOfOp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op,
        llvm::ArrayRef<LoopSum> operands,
        llvm::function_ref<int64_t(unsigned loop)> extentOf);

/// The only index that the loop of `sum` may have where the sum equals
/// `number`, of the same type: it has none where this is no index of the loop.
mlir::Value indexWhereEqual(mlir::OpBuilder &builder, mlir::Location loc,
                            const LoopSum &sum, mlir::Value number);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_LOOPSUM_H

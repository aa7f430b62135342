//===- Run.h - a function from its first op to its last ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_RUN_H
#define TP_SIMULATE_RUN_H

#include "Frame.h"
#include "InputData.h"

namespace tp::simulator {

/// The values that no op after an op reads.
using LastUses =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>;
LastUses lastUsesIn(mlir::Block &block);

/// The only block of a function; an error where it has none or several.
mlir::FailureOr<mlir::Block *> bodyOf(mlir::func::FuncOp func);

/// The global values of all of `func` on random inputs, and those inputs.
/// Tamer inputs are tried where a program breaks an assertion or returns NaN.
struct GlobalRun {
  std::vector<Array> inputs;
  Frame frame;
  /// The most numbers that an op of the program combines into one.
  double longestReduction = 1;
};
mlir::FailureOr<GlobalRun> runGlobally(mlir::func::FuncOp func, uint64_t seed);

/// Runs `func` on `inputs`, one per argument.
mlir::LogicalResult runFunction(mlir::func::FuncOp func,
                                llvm::ArrayRef<Array> inputs, Frame &frame,
                                bool keepAll);

} // namespace tp::simulator

#endif // TP_SIMULATE_RUN_H

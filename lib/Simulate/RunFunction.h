//===- RunFunction.h - runs a function op by op -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_RUNFUNCTION_H
#define TP_SIMULATE_RUNFUNCTION_H

#include "InputData.h"
#include "tp/Interpreter/Frame.h"
#include "tp/Simulate/Simulator.h"

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
  std::vector<TensorData> inputs;
  Frame frame;
  /// The most numbers that an op of the program combines into one.
  double longestReduction = 1;
  /// The op that could not be run; null where all of them were.
  mlir::Operation *stoppedAt = nullptr;
};
mlir::FailureOr<GlobalRun> runGlobally(mlir::func::FuncOp func,
                                       const SimulateOptions &options);

/// Runs `func` on `inputs`, one per argument; `failedAt` is set to the op
/// that failed.
mlir::LogicalResult runFunction(mlir::func::FuncOp func,
                                llvm::ArrayRef<TensorData> inputs, Frame &frame,
                                bool keepAll,
                                mlir::Operation **failedAt = nullptr);

/// Simulates `module` by `run`; as far as possible where the options say so.
mlir::LogicalResult
runAsFarAsPossible(mlir::ModuleOp module, const SimulateOptions &options,
                   SimulateReport &report,
                   llvm::function_ref<mlir::LogicalResult()> run);

} // namespace tp::simulator

#endif // TP_SIMULATE_RUNFUNCTION_H

//===- Simulator.h - a program on all ranks at once -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks every sharding rule, redistribution and partition, and shares no code
// with them (docs/simulator.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_SIMULATOR_H
#define TP_SIMULATE_SIMULATOR_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/Interpreter/TensorData.h"

namespace tp {

struct SimulateOptions {
  /// Chooses the random inputs.
  uint64_t seed = 1;
  /// What cannot be run (an op that the interpreter does not know, a tensor
  /// that is too large, numbers that break the program's own assertion) is a
  /// remark at its op, and ends the simulation with success.
  bool asFarAsPossible = false;
};

/// What a successful simulation covered.
struct SimulateReport {
  int64_t ranks = 0;
  /// Values whose numbers were compared on all ranks.
  int64_t values = 0;
  /// Of these, values whose numbers are all NaN: the comparison proves nothing.
  int64_t notNumbers = 0;
  /// Values of the reference that no op of the partitioned program refers to.
  int64_t unnamed = 0;
  /// Some op could not be run; the ops after it are not checked.
  bool stopped = false;
};

/// `14 values agree on 4 ranks`, and what the comparison does not prove.
std::string describe(const SimulateReport &report);

/// Simulates every function of a program whose types carry layouts (between
/// tp-materialize and tp-partition): each op is run on the global values, and
/// on every rank for the part of its iterations that `tp.strategy` gives the
/// rank, reading nothing but the rank's own buffers. The first local value that
/// is not its layout's part of the global value is an error at the op that made
/// it.
mlir::LogicalResult simulate(mlir::ModuleOp module,
                             const SimulateOptions &options = {},
                             SimulateReport *report = nullptr);

/// Simulates a partitioned program on all ranks in lockstep and checks every
/// value that `tp.values` names, and the results, against the global values of
/// `reference`: the program before tp-partition, whose ops name the same ids.
mlir::LogicalResult simulatePartitioned(mlir::ModuleOp local,
                                        mlir::ModuleOp reference,
                                        const SimulateOptions &options = {},
                                        SimulateReport *report = nullptr);

/// Runs a function as a whole, on one device, and returns its results. Layouts
/// in types are ignored. Emits an error and fails where the number, shapes or
/// element types of `inputs` are not the arguments', or an op is unknown.
mlir::FailureOr<std::vector<simulator::TensorData>>
interpret(mlir::func::FuncOp func,
          llvm::ArrayRef<simulator::TensorData> inputs);

} // namespace tp

#endif // TP_SIMULATE_SIMULATOR_H

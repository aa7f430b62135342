//===- SimulatedStrategies.h - strategies found by running an op *- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an op may do on one axis, found without its sharding rule: the op is
// applied on every rank to the rank's part of random operands, and what the
// ranks make is compared with what the whole op makes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_SIMULATEDSTRATEGIES_H
#define TP_TEST_LIB_INTERFACES_SIMULATEDSTRATEGIES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tp/Sharding/Layout.h"
#include <map>

namespace tp {

/// Operands as `slots` say make a result as `result` says.
struct SimulatedStrategy {
  llvm::SmallVector<Placement, 3> slots;
  Placement result;
  /// Of the first rank, which holds the most: scalar operations, and bytes of
  /// operands and result.
  double operations = 0, bytes = 0;
};

/// Finds strategies; ops that are alike are simulated once.
class StrategySimulator {
public:
  explicit StrategySimulator(int64_t ranks) : ranks(ranks) {}

  /// All strategies of an op with one result and no `whyNotLocal` (LocalOp.h);
  /// failure with an error where the whole op cannot be run. Valid as long as
  /// the simulator is.
  mlir::FailureOr<llvm::ArrayRef<SimulatedStrategy>>
  strategiesOf(mlir::Operation *op);

private:
  int64_t ranks;
  /// By the text of the op in a function of its own.
  std::map<std::string, std::vector<SimulatedStrategy>> known;
};

/// Bytes of a whole value.
int64_t bytesOf(mlir::RankedTensorType type);

} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_SIMULATEDSTRATEGIES_H

//===- ReadSearchGraph.h - strategies of all ops ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_PROPAGATE_READSEARCHGRAPH_H
#define TP_TEST_LIB_PROPAGATE_READSEARCHGRAPH_H

#include "CheapestLayouts.h"
#include "Interfaces/SimulatedStrategies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// A function with pins on one axis, and the strategies of its ops that
/// `simulator` finds. What is made of nothing is part of the ops that use it.
/// Fails with an error at what the search does not know.
mlir::FailureOr<SearchGraph> readSearchGraph(mlir::func::FuncOp func,
                                             llvm::StringRef axis,
                                             const AxisCosts &costs,
                                             StrategySimulator &simulator);

} // namespace tp

#endif // TP_TEST_LIB_PROPAGATE_READSEARCHGRAPH_H

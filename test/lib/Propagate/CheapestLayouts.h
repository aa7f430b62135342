//===- CheapestLayouts.h - the cheapest layouts by trying all ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tp-propagate minimizes, found in the plainest way: every strategy of
// every op with every way of bringing values where they are needed. It knows
// the formulas of costs, and nothing of variables, supplies and pruning.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_PROPAGATE_CHEAPESTLAYOUTS_H
#define TP_TEST_LIB_PROPAGATE_CHEAPESTLAYOUTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "tp/Sharding/AxisProblem.h"

namespace tp {

struct SearchValue {
  mlir::RankedTensorType type;
  /// What a collective on it counts as.
  int64_t collectiveFactor = 1;
  /// The number of operands and results that are this value.
  unsigned uses = 0;
};

/// What one op, argument or result may do.
struct SearchStrategy {
  /// One per slot of the node.
  std::vector<Placement> needs;
  Placement makes;
  Cost cost;
};

/// An argument has no slots and a result makes nothing.
struct SearchNode {
  llvm::SmallVector<unsigned, 3> slots;
  std::optional<unsigned> result;
  std::vector<SearchStrategy> strategies;
};

/// Nodes stand after the makers of their slots.
struct SearchGraph {
  std::vector<SearchValue> values;
  std::vector<SearchNode> nodes;
};

/// Costs of one axis.
class CheapestLayouts {
public:
  explicit CheapestLayouts(const AxisCosts &costs) : costs(costs) {}

  /// The least cost of a value made as `made` that is needed as `needs` says,
  /// once per use: what collectives bring it to is paid once, over all sets of
  /// placements and all trees of direct steps; what a rank cuts or makes of
  /// what it has is paid by each use.
  Cost costOfValue(const SearchValue &value, const Placement &made,
                   const std::vector<Placement> &needs) const;

  /// The least cost of a program: infinite where it has no layouts. Node by
  /// node, of all that leads to the same layouts of the values still needed
  /// the cheapest is kept.
  Cost cheapest(const SearchGraph &program) const;

  /// The same by every combination of strategies; nothing where there are more
  /// than `limit`.
  std::optional<Cost> cheapestOfAll(const SearchGraph &program,
                                    double limit) const;

private:
  const AxisCosts costs;
};

} // namespace tp

#endif // TP_TEST_LIB_PROPAGATE_CHEAPESTLAYOUTS_H

//===- DualAscent.h - lower bounds of assignments ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequential tree-reweighted message passing (TRW-S; Kolmogorov 2006, in the
// form of his "A new look at reweighted message passing", 2015). It
// reparametrizes the problem: costs move between variables and their pairs, and
// no assignment changes its cost. While all remaining costs are at least 0, the
// sum of what has been subtracted is a lower bound.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SOLVER_DUALASCENT_H
#define TP_SOLVER_DUALASCENT_H

#include "tp/Solver/AssignmentSteps.h"

namespace tp::detail {

/// Primary and secondary costs as one number, so that lexicographic order is
/// that of numbers and messages can be divided.
__extension__ using WideCost = __int128;

inline WideCost widened(const Cost &cost) {
  return (WideCost(cost.primary) << 64) + cost.secondary;
}
/// The least cost of an assignment that may be `wide`, which is not negative. A
/// fraction of a primary cost that is larger than all secondary costs together
/// (`DualAscent::isExact`) is rounded up to a whole one.
Cost narrowed(WideCost wide);

class DualAscent {
public:
  /// Of `core` every two variables have one pair at most, and every state a
  /// finite one with every neighbour. Variables are visited in the order given
  /// and back.
  DualAscent(const AssignmentProblem &core,
             const std::vector<unsigned> &visited);

  /// Whether costs are small enough for exact sums.
  static bool isExact(const AssignmentProblem &core);

  /// One pass over all variables, forward and back.
  void ascend();

  /// The bound is above the cost of any assignment: there is none.
  bool isInfeasible() const;
  /// No assignment costs less. Never falls.
  WideCost bound() const { return taken; }
  /// No assignment in which the variable has the state costs less.
  WideCost boundOf(unsigned variable, unsigned state) const {
    return bounds[variable][state];
  }

private:
  /// A pair from the side of one of its variables.
  struct Side {
    unsigned neighbor = 0;
    /// Costs, indexed by this side's states first.
    const std::vector<WideCost> *costs = nullptr;
    /// Where the costs moved into the pair start in `moved`: by this side's
    /// states, and by the neighbour's.
    size_t own = 0, others = 0;
  };
  void visit(unsigned variable, bool isForward);

  std::vector<unsigned> order, position;
  std::vector<std::vector<Side>> sides;
  /// Every table as it is and transposed.
  std::vector<std::vector<WideCost>> tables;
  std::vector<WideCost> moved;
  std::vector<std::vector<WideCost>> remaining, bounds;
  WideCost taken = 0;
};

} // namespace tp::detail

#endif // TP_SOLVER_DUALASCENT_H

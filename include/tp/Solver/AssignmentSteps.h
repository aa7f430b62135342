//===- AssignmentSteps.h - the steps of solving an assignment ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pruning, elimination orders, elimination, bounds. `solve` (Assignment.h) puts
// them together.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SOLVER_ASSIGNMENTSTEPS_H
#define TP_SOLVER_ASSIGNMENTSTEPS_H

#include "tp/Solver/Assignment.h"
#include <memory>
#include <optional>

namespace tp::detail {

/// The states of every variable that are not ruled out, ascending.
using Domains = std::vector<std::vector<unsigned>>;

/// A pair as one of its variables sees it.
struct Neighbor {
  unsigned variable = 0;
  unsigned table = 0;
  /// The table's rows are the states of the one who looks.
  bool rowsAreOwn = false;
};

/// The problem without states that cannot matter.
struct PrunedProblem {
  /// Every two variables have one pair at most, and every state has a finite
  /// one with every neighbour.
  AssignmentProblem core;
  /// What variable of the core each original variable is. Variables with a
  /// single state left have no core variable.
  static constexpr unsigned fixed = ~0u;
  std::vector<unsigned> coreVariable;
  Domains originalStates;
  /// What those cost: together with the cost of an assignment of the core that
  /// of the original one.
  Cost fixedCost;
  /// There is no assignment: `emptied` is left without a state.
  bool infeasible = false;
  unsigned emptied = 0;

  /// An assignment of the core as one of the original problem.
  std::vector<unsigned>
  original(const std::vector<unsigned> &coreAssignment) const;
};
/// Only states in `domains` (all, if empty) are looked at.
PrunedProblem prune(const AssignmentProblem &problem, Domains domains = {});

/// The problem without variables that have at most two neighbours, which became
/// costs of those.
struct ReducedProblem {
  /// Every two variables have one pair at most.
  AssignmentProblem core;
  /// What variable of the core each original variable is.
  static constexpr unsigned gone = ~0u;
  std::vector<unsigned> coreVariable;
  /// A variable that went, and its best state by those of its neighbours then,
  /// the last one's fastest.
  struct Step {
    unsigned variable = 0;
    struct Side {
      unsigned variable = 0;
      size_t numStates = 0;
    };
    std::vector<Side> neighbors;
    std::shared_ptr<const std::vector<unsigned>> best;
  };
  std::vector<Step> steps;
  Cost fixedCost;
  /// The largest table that was made.
  double tableEntries = 0;
  /// There is no assignment: nothing is left for `emptied`.
  bool infeasible = false;
  unsigned emptied = 0;

  /// The best assignment of the original problem that has the one of the core.
  std::vector<unsigned>
  original(const std::vector<unsigned> &coreAssignment) const;
};
/// Every two variables of `problem` have one pair at most.
ReducedProblem reduce(const AssignmentProblem &problem);

/// What a variable and its surroundings cost, as a hash: equal for variables
/// that do the same in different layers, so that those are taken in the same
/// order, and their tables are equal.
std::vector<uint64_t> neighborhoodHashes(const AssignmentProblem &problem);

/// Any assignment of finite cost: variables in the given order take the first
/// of their preferred states with which all others still have one. Nothing if
/// a variable is left without.
std::optional<std::vector<unsigned>>
findConsistent(const AssignmentProblem &problem,
               const std::vector<unsigned> &variables,
               const Domains &preferences);

/// Joins with more entries are done every time; others once for all that are
/// equal.
inline constexpr size_t cachedEntries = 1 << 18;

/// The order of elimination, and what it takes.
struct EliminationOrder {
  std::vector<unsigned> variables;
  /// The largest table, all tables, additions. An estimate: joins of variables
  /// with equal surroundings are taken to be equal.
  double tableEntries = 0, bytes = 0, work = 0;
  /// The variable that makes the largest table.
  unsigned largestAt = 0;

  bool fits(double maxBytes, double maxWork) const {
    return bytes <= maxBytes && work <= maxWork;
  }
};
/// The best of several orders, found on the graph alone. Stops looking where
/// the first one is easy. Like `keys` it does not depend on the variables'
/// numbers.
EliminationOrder eliminationOrder(const AssignmentProblem &core,
                                  const AssignmentLimits &limits);

/// Eliminates in the given order. Every two variables of `core` have one pair
/// at most. The result is Optimal or Infeasible.
AssignmentResult eliminate(const AssignmentProblem &core,
                           const EliminationOrder &order);

/// Solves a core that is too large for elimination alone.
AssignmentResult solveByBounds(const AssignmentProblem &core,
                               const AssignmentLimits &limits);

} // namespace tp::detail

#endif // TP_SOLVER_ASSIGNMENTSTEPS_H

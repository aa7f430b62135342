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

/// A pair from the side of one of its variables.
struct Neighbor {
  unsigned variable = 0;
  unsigned table = 0;
  /// The table's rows are the states of this side's variable.
  bool rowsAreOwn = false;
};

/// The problem without states that no optimum needs.
struct PrunedProblem {
  /// Every two variables have one pair at most, and every state has a finite
  /// one with every neighbour.
  AssignmentProblem core;
  /// What variable of the core each original variable is. Variables with a
  /// single state left have no core variable.
  static constexpr unsigned fixed = ~0u;
  std::vector<unsigned> coreVariable;
  Domains originalStates;
  /// The cost of the fixed variables. Added to the cost of an assignment of the
  /// core it gives the cost of the original assignment.
  Cost fixedCost;
  /// There is no assignment: `emptied` is left without a state.
  bool infeasible = false;
  unsigned emptied = 0;

  /// An assignment of the core as one of the original problem.
  std::vector<unsigned>
  original(const std::vector<unsigned> &coreAssignment) const;
};
/// Considers only the states in `domains` (all, if empty).
PrunedProblem prune(const AssignmentProblem &problem, Domains domains = {});

/// The problem without variables of at most two neighbours. Their costs have
/// moved to these neighbours.
struct ReducedProblem {
  /// Every two variables have one pair at most.
  AssignmentProblem core;
  /// What variable of the core each original variable is.
  static constexpr unsigned gone = ~0u;
  std::vector<unsigned> coreVariable;
  /// An eliminated variable, and its best state for every combination of its
  /// neighbours' states (the last neighbour's state varies fastest).
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

/// A structural hash per variable, of its costs and those of its neighbours.
/// Variables that correspond in different layers have equal hashes, so that
/// they are eliminated in the same order and their tables are equal.
std::vector<uint64_t> neighborhoodHashes(const AssignmentProblem &problem);

/// Any assignment of finite cost: variables in the given order take the first
/// of their preferred states with which all others still have one. Nothing if
/// some variable has no such state.
std::optional<std::vector<unsigned>>
findConsistent(const AssignmentProblem &problem,
               const std::vector<unsigned> &variables,
               const Domains &preferences);

/// Equal joins of at most this many entries are computed once.
inline constexpr size_t cachedEntries = 1 << 18;

/// An order of elimination, and its cost in memory and time.
struct EliminationOrder {
  std::vector<unsigned> variables;
  /// The largest table, all tables, additions. An estimate: joins of variables
  /// with equal surroundings are taken to be equal.
  double tableEntries = 0, bytes = 0, work = 0;
  /// The variable that makes the largest table, and those that the table is of.
  unsigned largestAt = 0;
  std::vector<unsigned> largestJoin;

  bool fits(double maxBytes, double maxWork) const {
    return bytes <= maxBytes && work <= maxWork;
  }
};
/// An assignment that costs no more than the given one: variables are fixed to
/// its states, as few as make elimination of the others easy, others in each
/// round. Every two variables of `core` have one pair at most.
std::vector<unsigned> improveByConditioning(const AssignmentProblem &core,
                                            const AssignmentLimits &limits,
                                            std::vector<unsigned> assignment);

/// The best of several orders, judged by the graph alone. The search ends with
/// the first order that is easy. Like `keys` the result does not depend on the
/// order of variables.
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

//===- AssignmentConditioning.cpp - better assignments from near by -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where neither elimination nor bounds solve a problem, a few variables are
// what makes its tables large. With these fixed to their states of the best
// assignment so far, elimination finds the best states of all others at once
// (cutset conditioning: Dechter, Constraint Processing, chapter 10). Then other
// variables are fixed, so that those can change too, as long as that helps.
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include <algorithm>

using namespace tp;
using namespace tp::detail;

/// Rounds at the most, and those without a better assignment after which the
/// search ends.
static constexpr unsigned mostRounds = 12, idleRounds = 2;

namespace {
class Conditioning {
public:
  Conditioning(const AssignmentProblem &problem, const Domains &domains,
               const AssignmentLimits &limits,
               std::vector<unsigned> assignment);
  std::vector<unsigned> run();

private:
  /// Solves with as few variables fixed as make it easy; true if that finds a
  /// better assignment.
  bool solveRound();
  /// Fixes variables of the largest join to their states.
  void fixSome(const PrunedProblem &pruned, const EliminationOrder &order,
               Domains &domains);

  const AssignmentProblem &problem;
  const Domains &domains;
  const AssignmentLimits &limits;
  std::vector<unsigned> assignment;
  Cost cost;
  /// Per variable: its pairs, and the rounds in which it was fixed.
  std::vector<unsigned> degrees, timesFixed;
};
} // namespace

Conditioning::Conditioning(const AssignmentProblem &problem,
                           const Domains &domains,
                           const AssignmentLimits &limits,
                           std::vector<unsigned> assignment)
    : problem(problem), domains(domains), limits(limits),
      assignment(std::move(assignment)), cost(problem.costOf(this->assignment)),
      degrees(problem.states.size()), timesFixed(problem.states.size()) {
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    ++degrees[pair.first];
    ++degrees[pair.second];
  }
}

void Conditioning::fixSome(const PrunedProblem &pruned,
                           const EliminationOrder &order, Domains &domains) {
  std::vector<unsigned> join(order.largestJoin);
  join.push_back(order.largestAt);
  std::sort(join.begin(), join.end());
  std::vector<unsigned> candidates;
  for (unsigned v = 0; v < pruned.coreVariable.size(); ++v)
    if (std::binary_search(join.begin(), join.end(), pruned.coreVariable[v]))
      candidates.push_back(v);
  // Those that were free for long, and relate many others.
  std::stable_sort(
      candidates.begin(), candidates.end(), [&](unsigned a, unsigned b) {
        return timesFixed[a] != timesFixed[b] ? timesFixed[a] < timesFixed[b]
                                              : degrees[a] > degrees[b];
      });
  constexpr size_t mostAtOnce = 2;
  candidates.resize(std::min(candidates.size(), mostAtOnce));
  for (unsigned v : candidates) {
    domains[v] = {assignment[v]};
    ++timesFixed[v];
  }
}

bool Conditioning::solveRound() {
  Domains left = domains;
  for (;;) {
    PrunedProblem pruned = prune(problem, left);
    if (pruned.infeasible)
      return false;
    EliminationOrder order = eliminationOrder(pruned.core, limits);
    if (!order.fits(limits.easyBytes, limits.easyWork)) {
      fixSome(pruned, order, left);
      continue;
    }
    AssignmentResult found = eliminate(pruned.core, order);
    if (found.outcome != AssignmentResult::Outcome::Optimal)
      return false;
    std::vector<unsigned> other = pruned.original(found.assignment);
    Cost otherCost = problem.costOf(other);
    if (!(otherCost < cost))
      return false;
    assignment = std::move(other);
    cost = otherCost;
    return true;
  }
}

std::vector<unsigned> Conditioning::run() {
  unsigned idle = 0;
  for (unsigned round = 0; round < mostRounds && idle < idleRounds; ++round)
    idle = solveRound() ? 0 : idle + 1;
  return std::move(assignment);
}

std::vector<unsigned> detail::improveByConditioning(
    const AssignmentProblem &problem, const Domains &domains,
    const AssignmentLimits &limits, std::vector<unsigned> assignment) {
  return Conditioning(problem, domains, limits, std::move(assignment)).run();
}

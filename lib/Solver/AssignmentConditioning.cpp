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
#include <cmath>
#include <numeric>
#include <tuple>

using namespace tp;
using namespace tp::detail;

/// Rounds at the most, and those without a better assignment after which the
/// search ends.
static constexpr unsigned mostRounds = 32, idleRounds = 4;

namespace {
class Conditioning {
public:
  Conditioning(const AssignmentProblem &problem, const AssignmentLimits &limits,
               std::vector<unsigned> assignment);
  std::vector<unsigned> run();

private:
  /// Few variables without which elimination is easy, of each whether it is one
  /// of them.
  std::vector<bool> choose();
  /// Solves with these fixed to their states; true if that finds a better
  /// assignment.
  bool solveRound();

  const AssignmentProblem &problem;
  const AssignmentLimits &limits;
  std::vector<unsigned> assignment;
  Cost cost;
  /// Per variable: its pairs, and the rounds in which it was fixed.
  std::vector<unsigned> degrees, timesFixed;
};
} // namespace

Conditioning::Conditioning(const AssignmentProblem &problem,
                           const AssignmentLimits &limits,
                           std::vector<unsigned> assignment)
    : problem(problem), limits(limits), assignment(std::move(assignment)),
      cost(problem.costOf(this->assignment)), degrees(problem.states.size()),
      timesFixed(problem.states.size()) {
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    ++degrees[pair.first];
    ++degrees[pair.second];
  }
}

std::vector<bool> Conditioning::choose() {
  std::vector<bool> isFixed(problem.states.size());
  AssignmentProblem free = problem;
  for (;;) {
    std::erase_if(free.pairs, [&](const AssignmentProblem::Pair &pair) {
      return isFixed[pair.first] || isFixed[pair.second];
    });
    EliminationOrder order = eliminationOrder(free, limits);
    if (order.fits(limits.easyBytes, limits.easyWork) ||
        order.tableEntries <= 1)
      return isFixed;
    // Those that were free for long, and relate many others.
    std::vector<unsigned> candidates = order.largestJoin;
    candidates.push_back(order.largestAt);
    std::sort(candidates.begin(), candidates.end(),
              [&](unsigned a, unsigned b) {
                return std::tuple(timesFixed[a], degrees[b], a) <
                       std::tuple(timesFixed[b], degrees[a], b);
              });
    // A fixed variable leaves a few times less to do. Fewer than it takes: the
    // others of a join often are no longer in one then.
    double excess = std::max(order.work / std::max(limits.easyWork, 1.0),
                             order.bytes / std::max(limits.easyBytes, 1.0));
    auto count = static_cast<size_t>(1 + std::log2(std::max(excess, 1.0)) / 8);
    candidates.resize(std::min(candidates.size(), count));
    for (unsigned v : candidates) {
      isFixed[v] = true;
      ++timesFixed[v];
      free.states[v] = {Cost()};
    }
  }
}

bool Conditioning::solveRound() {
  std::vector<bool> isFixed = choose();
  Domains left(problem.states.size());
  for (unsigned v = 0; v < left.size(); ++v) {
    left[v].resize(isFixed[v] ? 1 : problem.states[v].size());
    std::iota(left[v].begin(), left[v].end(), isFixed[v] ? assignment[v] : 0);
  }
  PrunedProblem pruned = prune(problem, left);
  if (pruned.infeasible)
    return false;
  AssignmentResult found =
      eliminate(pruned.core, eliminationOrder(pruned.core, limits));
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

std::vector<unsigned> Conditioning::run() {
  unsigned idle = 0;
  for (unsigned round = 0; round < mostRounds && idle < idleRounds; ++round)
    idle = solveRound() ? 0 : idle + 1;
  return std::move(assignment);
}

std::vector<unsigned>
detail::improveByConditioning(const AssignmentProblem &core,
                              const AssignmentLimits &limits,
                              std::vector<unsigned> assignment) {
  return Conditioning(core, limits, std::move(assignment)).run();
}

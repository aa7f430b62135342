//===- AssignmentBounds.cpp - elimination helped by bounds ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bound for every state of every variable says which states belong to cheap
// assignments. Elimination is done among those only:
//
// - with all states whose bound is within `delta` of the lower bound: what is
//   found is optimal if it costs no more than that;
// - otherwise it is an upper bound, and all states that are not above it are
//   tried; if those are too many, bounds are made better;
// - where those get no better, states above the upper bound are dropped for
//   good, and what is left is pruned, bounded and cut again.
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include "tp/Solver/DualAscent.h"
#include <algorithm>
#include <numeric>
#include <optional>

using namespace tp;
using namespace tp::detail;
using Outcome = AssignmentResult::Outcome;

/// Passes over the variables per round, and those without a gain of one part
/// in `gainParts` after which a round ends.
static constexpr unsigned mostAscents = 200, idleAscents = 10;
static constexpr int gainParts = 10000;
/// Passes after which solving among the cheapest states is tried, and again
/// after twice as many: long before bounds are the best they may be they often
/// leave few states.
static constexpr unsigned firstTry = 12;
/// Of the states' bounds the part, from the least, that is tried first.
static constexpr size_t partFirstTried = 32;
/// A round that drops fewer than one of so many states is the last one.
static constexpr size_t statesPerDrop = 100;

namespace {
class BoundedSolver {
public:
  BoundedSolver(const AssignmentProblem &problem,
                const AssignmentLimits &limits)
      : problem(problem), limits(limits) {}
  AssignmentResult run();

private:
  /// Bounds what is left and drops states from it; true as long as that may
  /// help.
  bool tighten(Domains &domains);
  /// Takes the assignment if it is the best one so far.
  void offer(std::vector<unsigned> found);
  bool isProved() const { return hasFound && upper <= lower; }
  /// All assignments that may be better than the best one so far have been
  /// looked at, or ruled out.
  void closeGap() { lower = upper; }
  /// No assignment costs less than `bound`.
  void raise(WideCost bound) { lower = std::max(lower, bound); }
  /// Solves among the states that are at most `slack` above the lower bound;
  /// false where that is not easy.
  bool solveWithin(const PrunedProblem &pruned, const DualAscent &ascent,
                   WideCost slack);
  /// Solves among some of the cheapest states, few enough for easy elimination.
  void solveAmongCheapest(const PrunedProblem &pruned,
                          const DualAscent &ascent);
  /// Takes any assignment, the states that `ascent` finds cheap first.
  void solveSomehow(const PrunedProblem &pruned, const DualAscent *ascent,
                    const std::vector<unsigned> &variables);
  /// Looks for a better one among the states that are left; true if there is
  /// one.
  bool improve(const Domains &domains);
  /// Eliminates all that is left, if that can be done.
  void finish(const PrunedProblem &pruned, const EliminationOrder &order);
  AssignmentResult eliminateCounted(const AssignmentProblem &core,
                                    const EliminationOrder &order);

  const AssignmentProblem &problem;
  const AssignmentLimits &limits;
  AssignmentResult result;
  bool hasFound = false;
  /// The cost of the best assignment so far; no assignment costs less than
  /// `lower`.
  WideCost upper = 0, lower = 0;
};
} // namespace

void BoundedSolver::offer(std::vector<unsigned> found) {
  Cost cost = problem.costOf(found);
  if (cost.isInfinite() || (hasFound && !(cost < result.cost)))
    return;
  hasFound = true;
  result.cost = cost;
  result.assignment = std::move(found);
  upper = widened(cost);
}

/// The states of the core's variables whose bound is at most `slack` above the
/// lower bound.
static Domains statesWithin(const AssignmentProblem &core,
                            const DualAscent &ascent, WideCost slack) {
  Domains domains(core.states.size());
  for (unsigned v = 0; v < core.states.size(); ++v)
    for (unsigned state = 0; state < core.states[v].size(); ++state)
      if (ascent.boundOf(v, state) <= ascent.bound() + slack)
        domains[v].push_back(state);
  return domains;
}

AssignmentResult
BoundedSolver::eliminateCounted(const AssignmentProblem &core,
                                const EliminationOrder &order) {
  AssignmentResult found = eliminate(core, order);
  result.work += found.work;
  result.tableEntries = std::max(result.tableEntries, found.tableEntries);
  return found;
}

bool BoundedSolver::solveWithin(const PrunedProblem &pruned,
                                const DualAscent &ascent, WideCost slack) {
  PrunedProblem some =
      prune(pruned.core, statesWithin(pruned.core, ascent, slack));
  if (!some.infeasible) {
    EliminationOrder order = eliminationOrder(some.core, limits);
    if (!order.fits(limits.easyBytes, limits.easyWork))
      return false;
    AssignmentResult found = eliminateCounted(some.core, order);
    if (found.outcome == Outcome::Optimal)
      offer(pruned.original(some.original(found.assignment)));
  }
  // Whatever has a state that was left out costs more than the slack allows.
  WideCost fixedCost = widened(pruned.fixedCost);
  if (hasFound && upper <= ascent.bound() + slack + fixedCost)
    closeGap();
  else
    raise(widened(narrowed(ascent.bound() + slack)) + fixedCost);
  return true;
}

void BoundedSolver::solveAmongCheapest(const PrunedProblem &pruned,
                                       const DualAscent &ascent) {
  const AssignmentProblem &core = pruned.core;
  std::vector<WideCost> slacks = {0};
  for (unsigned v = 0; v < core.states.size(); ++v)
    for (unsigned state = 0; state < core.states[v].size(); ++state)
      slacks.push_back(
          std::max<WideCost>(0, ascent.boundOf(v, state) - ascent.bound()));
  std::sort(slacks.begin(), slacks.end());
  slacks.erase(std::unique(slacks.begin(), slacks.end()), slacks.end());

  // Twice as many as long as nothing is found: few are soon looked at, and what
  // is found among few is often the best. Fewer again where that is not easy,
  // until it may be half as many more at most.
  size_t easy = 0, notEasy = slacks.size() + 1;
  for (size_t count = 1 + slacks.size() / partFirstTried; !hasFound;) {
    (solveWithin(pruned, ascent, slacks[count - 1]) ? easy : notEasy) = count;
    if (easy == slacks.size() || notEasy <= easy + 1 + easy / 2)
      break;
    count = notEasy > slacks.size() ? std::min(slacks.size(), 2 * count)
                                    : (easy + notEasy) / 2;
  }
}

void BoundedSolver::solveSomehow(const PrunedProblem &pruned,
                                 const DualAscent *ascent,
                                 const std::vector<unsigned> &variables) {
  const AssignmentProblem &core = pruned.core;
  Domains cheapestFirst;
  for (unsigned v = 0; v < core.states.size(); ++v) {
    auto price = [&](unsigned state) {
      return ascent ? ascent->boundOf(v, state)
                    : widened(core.states[v][state]);
    };
    std::vector<unsigned> &states =
        cheapestFirst.emplace_back(core.states[v].size());
    std::iota(states.begin(), states.end(), 0);
    std::stable_sort(states.begin(), states.end(), [&](unsigned a, unsigned b) {
      return price(a) < price(b);
    });
  }
  std::optional<std::vector<unsigned>> found =
      findConsistent(core, variables, cheapestFirst);
  if (found)
    offer(pruned.original(*found));
}

void BoundedSolver::finish(const PrunedProblem &pruned,
                           const EliminationOrder &order) {
  auto originalVariable = [&](unsigned variable) {
    return std::find(pruned.coreVariable.begin(), pruned.coreVariable.end(),
                     variable) -
           pruned.coreVariable.begin();
  };
  if (!order.fits(limits.bytes, limits.work)) {
    if (!hasFound) {
      result.outcome = Outcome::TooLarge;
      result.variable = originalVariable(order.largestAt);
      result.tableEntries = order.tableEntries;
    }
    return;
  }
  AssignmentResult found = eliminateCounted(pruned.core, order);
  if (found.outcome == Outcome::Optimal)
    offer(pruned.original(found.assignment));
  if (hasFound) {
    closeGap();
  } else {
    result.outcome = Outcome::Infeasible;
    result.variable = originalVariable(found.variable);
  }
}

bool BoundedSolver::tighten(Domains &domains) {
  PrunedProblem pruned = prune(problem, domains);
  // Without what costs more than the best one so far nothing is left.
  auto nothingLeft = [&](unsigned variable) {
    if (hasFound) {
      closeGap();
    } else {
      result.outcome = Outcome::Infeasible;
      result.variable = variable;
    }
    return false;
  };
  if (pruned.infeasible)
    return nothingLeft(pruned.emptied);
  EliminationOrder order = eliminationOrder(pruned.core, limits);
  auto eliminateAll = [&] {
    finish(pruned, order);
    return false;
  };
  if (order.fits(limits.easyBytes, limits.easyWork))
    return eliminateAll();
  if (!DualAscent::isExact(pruned.core)) {
    if (!hasFound)
      solveSomehow(pruned, nullptr, order.variables);
    return eliminateAll();
  }

  DualAscent ascent(pruned.core, order.variables);
  WideCost fixedCost = widened(pruned.fixedCost);
  unsigned nextTry = firstTry;
  for (unsigned idle = 0, i = 1; i <= mostAscents && idle < idleAscents; ++i) {
    WideCost before = ascent.bound();
    ascent.ascend();
    ++result.ascents;
    idle = ascent.bound() - before > before / gainParts ? 0 : idle + 1;
    if (ascent.isInfeasible())
      return nothingLeft(0);
    if (i != nextTry && i != mostAscents && idle != idleAscents)
      continue;
    nextTry *= 2;
    raise(widened(narrowed(ascent.bound())) + fixedCost);
    solveAmongCheapest(pruned, ascent);
    if (!hasFound)
      solveSomehow(pruned, &ascent, order.variables);
    if (hasFound && !isProved())
      solveWithin(pruned, ascent, upper - ascent.bound() - fixedCost);
    if (isProved())
      return false;
  }
  if (!hasFound)
    return eliminateAll();

  size_t dropped = 0, all = 0;
  domains = pruned.originalStates;
  for (unsigned v = 0; v < domains.size(); ++v) {
    unsigned ofCore = pruned.coreVariable[v];
    all += domains[v].size();
    if (ofCore == PrunedProblem::fixed)
      continue;
    for (unsigned state = domains[v].size(); state-- > 0;)
      if (ascent.boundOf(ofCore, state) + fixedCost > upper) {
        domains[v].erase(domains[v].begin() + state);
        ++dropped;
      }
  }
  return dropped * statesPerDrop >= all || eliminateAll();
}

bool BoundedSolver::improve(const Domains &domains) {
  PrunedProblem pruned = prune(problem, domains);
  if (pruned.infeasible)
    return false;
  // Pruning may have taken a state of the best one for another as good.
  Domains bestFirst(pruned.core.states.size());
  for (unsigned v = 0; v < domains.size(); ++v) {
    unsigned ofCore = pruned.coreVariable[v];
    if (ofCore == PrunedProblem::fixed)
      continue;
    const std::vector<unsigned> &states = pruned.originalStates[v];
    std::vector<unsigned> &order = bestFirst[ofCore];
    order.resize(states.size());
    std::iota(order.begin(), order.end(), 0);
    auto best = std::find(states.begin(), states.end(), result.assignment[v]);
    if (best != states.end())
      std::rotate(order.begin(), order.begin() + (best - states.begin()),
                  order.begin() + (best - states.begin()) + 1);
  }
  std::optional<std::vector<unsigned>> start = findConsistent(
      pruned.core, eliminationOrder(pruned.core, limits).variables, bestFirst);
  if (!start)
    return false;
  Cost before = result.cost;
  offer(pruned.original(
      improveByConditioning(pruned.core, limits, std::move(*start))));
  return result.cost < before;
}

AssignmentResult BoundedSolver::run() {
  Domains domains;
  for (const std::vector<Cost> &costs : problem.states) {
    std::vector<unsigned> &all = domains.emplace_back(costs.size());
    std::iota(all.begin(), all.end(), 0);
  }
  while (tighten(domains))
    ;
  // A better one leaves fewer states within the bounds.
  if (hasFound && !isProved() && improve(domains))
    while (tighten(domains))
      ;
  if (hasFound) {
    result.outcome = isProved() ? Outcome::Optimal : Outcome::Feasible;
    result.bound = isProved() ? result.cost : narrowed(lower);
  }
  return std::move(result);
}

AssignmentResult detail::solveByBounds(const AssignmentProblem &core,
                                       const AssignmentLimits &limits) {
  return BoundedSolver(core, limits).run();
}

//===- Assignment.cpp - minimum-cost assignment ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/Assignment.h"
#include "tp/Solver/AssignmentSteps.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <optional>

using namespace tp;
using namespace tp::detail;

/// Mixes all bits (the finalizer of splitmix64).
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t tp::combineKeys(uint64_t a, uint64_t b) { return mix(mix(a) + b); }

unsigned CostTables::add(std::vector<Cost> costs) {
  static_assert(sizeof(Cost) == 2 * sizeof(int64_t), "is hashed as bytes");
  uint64_t hash = llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(costs.data()),
                     costs.size() * sizeof(Cost)));
  auto [at, end] = numbers.equal_range(hash);
  for (; at != end; ++at)
    if (tables[at->second] == costs)
      return at->second;
  numbers.emplace(hash, tables.size());
  tables.push_back(std::move(costs));
  hashes.push_back(hash);
  return tables.size() - 1;
}

unsigned AssignmentProblem::addVariable(std::vector<Cost> costs, uint64_t key) {
  states.push_back(std::move(costs));
  keys.push_back(key);
  return states.size() - 1;
}

void AssignmentProblem::addPair(unsigned first, unsigned second,
                                std::vector<Cost> costs) {
  addPair(first, second, tables.add(std::move(costs)));
}

void AssignmentProblem::addPair(unsigned first, unsigned second,
                                unsigned table) {
  pairs.push_back({first, second, table});
}

Cost AssignmentProblem::costOf(const std::vector<unsigned> &assignment) const {
  Cost sum;
  for (unsigned v = 0; v < states.size(); ++v)
    sum += states[v][assignment[v]];
  for (const Pair &pair : pairs)
    sum += costs(pair)[assignment[pair.first] * states[pair.second].size() +
                       assignment[pair.second]];
  return sum;
}

namespace {
/// A problem made smaller again and again, and the way back.
class Simplification {
public:
  explicit Simplification(const AssignmentProblem &problem);

  const AssignmentProblem &core() const { return reduced.back().core; }
  Cost fixedCost() const;
  std::vector<unsigned> original(std::vector<unsigned> assignment) const;
  /// A variable of the problem that became `variable` of the core, or, where
  /// there is no assignment, one at the place.
  unsigned originalVariable(unsigned variable) const;

  std::deque<PrunedProblem> pruned;
  std::deque<ReducedProblem> reduced;
  std::optional<unsigned> emptied;

private:
  unsigned originalVariable(unsigned variable, size_t rounds) const;
};
} // namespace

Simplification::Simplification(const AssignmentProblem &problem) {
  const AssignmentProblem *rest = &problem;
  // What is reduced may be pruned again, which leaves more to reduce.
  for (bool isSmaller = true; isSmaller;) {
    size_t round = pruned.size();
    pruned.push_back(prune(*rest));
    if (pruned.back().infeasible) {
      emptied = originalVariable(pruned.back().emptied, round);
      return;
    }
    reduced.push_back(reduce(pruned.back().core));
    if (reduced.back().infeasible) {
      const std::vector<unsigned> &numbers = pruned.back().coreVariable;
      emptied = originalVariable(
          std::find(numbers.begin(), numbers.end(), reduced.back().emptied) -
              numbers.begin(),
          round);
      return;
    }
    isSmaller = core().states.size() < pruned.back().core.states.size();
    rest = &core();
  }
}

Cost Simplification::fixedCost() const {
  Cost sum;
  for (const PrunedProblem &each : pruned)
    sum += each.fixedCost;
  for (const ReducedProblem &each : reduced)
    sum += each.fixedCost;
  return sum;
}

std::vector<unsigned>
Simplification::original(std::vector<unsigned> assignment) const {
  for (size_t round = pruned.size(); round-- > 0;)
    assignment = pruned[round].original(reduced[round].original(assignment));
  return assignment;
}

unsigned Simplification::originalVariable(unsigned variable) const {
  return originalVariable(variable, reduced.size());
}

unsigned Simplification::originalVariable(unsigned variable,
                                          size_t rounds) const {
  auto find = [](const std::vector<unsigned> &numbers, unsigned number) {
    return std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
  };
  for (size_t round = rounds; round-- > 0;)
    variable = find(pruned[round].coreVariable,
                    find(reduced[round].coreVariable, variable));
  return variable;
}

AssignmentResult tp::solve(const AssignmentProblem &problem,
                           const AssignmentLimits &limits) {
  Simplification simple(problem);
  AssignmentResult result;
  if (simple.emptied) {
    result.outcome = AssignmentResult::Outcome::Infeasible;
    result.variable = *simple.emptied;
    return result;
  }
  EliminationOrder order = eliminationOrder(simple.core(), limits);
  result = order.fits(limits.easyBytes, limits.easyWork)
               ? eliminate(simple.core(), order)
               : solveByBounds(simple.core(), limits);
  result.coreVariables = simple.pruned.front().core.states.size();
  for (const ReducedProblem &each : simple.reduced)
    result.tableEntries = std::max(result.tableEntries, each.tableEntries);
  if (!result.hasAssignment()) {
    result.variable = simple.originalVariable(result.variable);
    return result;
  }
  result.assignment = simple.original(result.assignment);
  result.cost += simple.fixedCost();
  result.bound += simple.fixedCost();
  return result;
}

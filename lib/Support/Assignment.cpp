//===- Assignment.cpp - minimum-cost assignment ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Assignment.h"
#include "tp/Support/AssignmentSteps.h"
#include "llvm/Support/xxhash.h"

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

AssignmentResult tp::solve(const AssignmentProblem &problem,
                           const AssignmentLimits &limits) {
  PrunedProblem pruned = prune(problem);
  AssignmentResult result;
  if (pruned.infeasible) {
    result.outcome = AssignmentResult::Outcome::Infeasible;
    result.variable = pruned.emptied;
    return result;
  }
  EliminationOrder order = eliminationOrder(pruned.core, limits);
  result = order.fits(limits.easyBytes, limits.easyWork)
               ? eliminate(pruned.core, order)
               : solveByBounds(pruned.core, limits);
  result.coreVariables = pruned.core.states.size();
  if (result.hasAssignment()) {
    result.assignment = pruned.original(result.assignment);
    result.cost += pruned.fixedCost;
    result.bound += pruned.fixedCost;
    return result;
  }
  for (unsigned v = 0; v < problem.states.size(); ++v)
    if (pruned.coreVariable[v] == result.variable) {
      result.variable = v;
      break;
    }
  return result;
}

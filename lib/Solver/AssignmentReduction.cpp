//===- AssignmentReduction.cpp - variables with one or two neighbours -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable with two neighbours is no more than a table between those, one
// with one neighbour no more than a cost of its states: eliminating them leaves
// a problem of the same kind, and one that is far smaller (reductions R1 and R2
// of partitioned boolean quadratic programming; Scholz and Eckstein 2002).
// What is alike is computed once.
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

using namespace tp;
using namespace tp::detail;

namespace {
/// What is left of a variable: costs over the states of its neighbours, of
/// which the least primary and the least secondary one are 0.
struct ResidualCosts {
  unsigned table = 0;
  Cost least;
  std::shared_ptr<const std::vector<unsigned>> best;
};

class Reducer {
public:
  explicit Reducer(const AssignmentProblem &problem);
  ReducedProblem run();

private:
  size_t numStates(unsigned v) const { return problem.states[v].size(); }
  static Cost costOf(const std::vector<Cost> &costs, bool rowsAreOwn,
                     size_t state, size_t numStates, size_t other,
                     size_t numOthers) {
    return costs[rowsAreOwn ? state * numOthers + other
                            : other * numStates + state];
  }
  bool isReducible(unsigned v) const;
  ResidualCosts restOf(unsigned v);
  ResidualCosts computeRest(unsigned v);
  unsigned sumOf(unsigned a, unsigned b, bool isTransposed, size_t rows,
                 size_t columns);
  void drop(unsigned from, unsigned neighbor);
  /// Adds a table to the pair of two variables, its rows being those of `a`.
  void relate(unsigned a, unsigned b, unsigned table);
  bool reduce(unsigned v);

  const AssignmentProblem &problem;
  CostTables tables;
  std::vector<unsigned> unary;
  std::vector<std::vector<Neighbor>> neighbors;
  std::map<std::vector<size_t>, ResidualCosts> rests;
  std::map<std::vector<size_t>, unsigned> sums;
  ReducedProblem result;
};
} // namespace

Reducer::Reducer(const AssignmentProblem &problem)
    : problem(problem), tables(problem.tables),
      neighbors(problem.states.size()) {
  for (const std::vector<Cost> &costs : problem.states)
    unary.push_back(tables.add(costs));
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    neighbors[pair.first].push_back({pair.second, pair.table, true});
    neighbors[pair.second].push_back({pair.first, pair.table, false});
  }
}

bool Reducer::isReducible(unsigned v) const {
  if (neighbors[v].size() > 2)
    return false;
  size_t entries = 1;
  for (const Neighbor &neighbor : neighbors[v])
    entries *= numStates(neighbor.variable);
  return entries <= cachedEntries;
}

ResidualCosts Reducer::restOf(unsigned v) {
  std::vector<size_t> seen = {unary[v]};
  for (const Neighbor &neighbor : neighbors[v])
    seen.insert(seen.end(), {neighbor.table, neighbor.rowsAreOwn,
                             numStates(neighbor.variable)});
  auto [at, isNew] = rests.try_emplace(std::move(seen));
  if (isNew)
    at->second = computeRest(v);
  return at->second;
}

ResidualCosts Reducer::computeRest(unsigned v) {
  const std::vector<Cost> &own = tables[unary[v]];
  size_t states = own.size();
  // A neighbour that is missing has one state.
  size_t sizes[] = {1, 1};
  std::vector<Cost> with[2];
  for (size_t side = 0; side < 2; ++side) {
    with[side].assign(states, Cost());
    if (side >= neighbors[v].size())
      continue;
    // By the neighbour's states first: the innermost loop is over those of `v`.
    const Neighbor &neighbor = neighbors[v][side];
    sizes[side] = numStates(neighbor.variable);
    with[side].clear();
    for (size_t other = 0; other < sizes[side]; ++other)
      for (size_t state = 0; state < states; ++state)
        with[side].push_back(costOf(tables[neighbor.table], neighbor.rowsAreOwn,
                                    state, states, other, sizes[side]));
  }
  std::vector<Cost> rest;
  auto best = std::make_shared<std::vector<unsigned>>();
  std::vector<Cost> sums(states);
  Cost least = {saturatedCost, saturatedCost};
  for (size_t i = 0; i < sizes[0]; ++i) {
    for (size_t state = 0; state < states; ++state)
      sums[state] = own[state] + with[0][i * states + state];
    for (size_t j = 0; j < sizes[1]; ++j) {
      Cost cheapest = Cost::infinite();
      unsigned cheapestState = 0;
      for (size_t state = 0; state < states; ++state)
        if (Cost sum = sums[state] + with[1][j * states + state];
            sum < cheapest) {
          cheapest = sum;
          cheapestState = state;
        }
      rest.push_back(cheapest);
      best->push_back(cheapestState);
      if (!cheapest.isInfinite())
        least = {std::min(least.primary, cheapest.primary),
                 std::min(least.secondary, cheapest.secondary)};
    }
  }
  if (!least.isInfinite())
    for (Cost &cost : rest)
      if (!cost.isInfinite())
        cost = {cost.primary - least.primary, cost.secondary - least.secondary};
  return {tables.add(std::move(rest)), least, std::move(best)};
}

unsigned Reducer::sumOf(unsigned a, unsigned b, bool isTransposed, size_t rows,
                        size_t columns) {
  auto [at, isNew] = sums.try_emplace({a, b, isTransposed, rows});
  if (!isNew)
    return at->second;
  std::vector<Cost> sum = tables[a];
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      sum[i * columns + j] +=
          tables[b][isTransposed ? j * rows + i : i * columns + j];
  return at->second = tables.add(std::move(sum));
}

void Reducer::drop(unsigned from, unsigned neighbor) {
  std::erase_if(neighbors[from], [&](const Neighbor &other) {
    return other.variable == neighbor;
  });
}

void Reducer::relate(unsigned a, unsigned b, unsigned table) {
  auto knows = [](unsigned v) {
    return [v](const Neighbor &other) { return other.variable == v; };
  };
  auto there = std::find_if(neighbors[a].begin(), neighbors[a].end(), knows(b));
  if (there == neighbors[a].end()) {
    neighbors[a].push_back({b, table, true});
    neighbors[b].push_back({a, table, false});
    return;
  }
  size_t rows = numStates(there->rowsAreOwn ? a : b);
  size_t columns = numStates(there->rowsAreOwn ? b : a);
  there->table = sumOf(there->table, table, !there->rowsAreOwn, rows, columns);
  std::find_if(neighbors[b].begin(), neighbors[b].end(), knows(a))->table =
      there->table;
}

/// False where every state is infinite.
bool Reducer::reduce(unsigned v) {
  ResidualCosts rest = restOf(v);
  if (rest.least.isInfinite())
    return false;
  result.fixedCost += rest.least;
  result.tableEntries =
      std::max(result.tableEntries, static_cast<double>(rest.best->size()));
  ReducedProblem::Step step{v, {}, rest.best};
  for (const Neighbor &neighbor : neighbors[v]) {
    step.neighbors.push_back({neighbor.variable, numStates(neighbor.variable)});
    drop(neighbor.variable, v);
  }
  if (step.neighbors.size() == 1) {
    unsigned other = step.neighbors[0].variable;
    unary[other] = sumOf(unary[other], rest.table, false, 1, numStates(other));
  } else if (step.neighbors.size() == 2) {
    relate(step.neighbors[0].variable, step.neighbors[1].variable, rest.table);
  }
  neighbors[v].clear();
  result.steps.push_back(std::move(step));
  return true;
}

ReducedProblem Reducer::run() {
  // Those that do the same one after the other, so that what is left of them
  // stays the same.
  std::vector<uint64_t> like = neighborhoodHashes(problem);
  std::vector<unsigned> order(neighbors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(like[a], problem.key(a)) <
           std::pair(like[b], problem.key(b));
  });
  std::vector<bool> isGone(neighbors.size(), false);
  std::deque<unsigned> pending(order.begin(), order.end());
  while (!pending.empty()) {
    unsigned v = pending.front();
    pending.pop_front();
    if (isGone[v] || !isReducible(v))
      continue;
    isGone[v] = true;
    if (!reduce(v)) {
      result.infeasible = true;
      result.emptied = v;
      return std::move(result);
    }
    for (const auto &other : result.steps.back().neighbors)
      if (neighbors[other.variable].size() <= 2)
        pending.push_back(other.variable);
  }
  result.coreVariable.assign(neighbors.size(), ReducedProblem::gone);
  for (unsigned v = 0; v < neighbors.size(); ++v)
    if (!isGone[v])
      result.coreVariable[v] =
          result.core.addVariable(tables[unary[v]], problem.key(v));
  for (unsigned v = 0; v < neighbors.size(); ++v)
    for (const Neighbor &neighbor : neighbors[v])
      if (neighbor.rowsAreOwn)
        result.core.addPair(result.coreVariable[v],
                            result.coreVariable[neighbor.variable],
                            neighbor.table);
  result.core.tables = std::move(tables);
  return std::move(result);
}

ReducedProblem detail::reduce(const AssignmentProblem &problem) {
  return Reducer(problem).run();
}

std::vector<unsigned>
ReducedProblem::original(const std::vector<unsigned> &coreAssignment) const {
  std::vector<unsigned> assignment(coreVariable.size(), 0);
  for (unsigned v = 0; v < coreVariable.size(); ++v)
    if (coreVariable[v] != gone)
      assignment[v] = coreAssignment[coreVariable[v]];
  for (size_t i = steps.size(); i-- > 0;) {
    size_t entry = 0;
    for (const Step::Side &side : steps[i].neighbors)
      entry = entry * side.numStates + assignment[side.variable];
    assignment[steps[i].variable] = (*steps[i].best)[entry];
  }
  return assignment;
}

//===- Assignment.cpp - exact minimum-cost assignment ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Assignment.h"
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

using namespace tp;
using namespace tp::detail;

unsigned AssignmentProblem::addVariable(std::vector<Cost> costs, uint64_t key) {
  states.push_back(std::move(costs));
  keys.push_back(key);
  return states.size() - 1;
}

void AssignmentProblem::addPair(unsigned first, unsigned second,
                                std::vector<Cost> costs) {
  pairs.push_back({first, second, std::move(costs)});
}

Cost AssignmentProblem::costOf(const std::vector<unsigned> &assignment) const {
  Cost sum;
  for (unsigned v = 0; v < states.size(); ++v)
    sum += states[v][assignment[v]];
  for (const Pair &pair : pairs)
    sum += pair.costs[assignment[pair.first] * states[pair.second].size() +
                      assignment[pair.second]];
  return sum;
}

namespace {
/// A pair as one of its variables sees it.
struct Neighbor {
  unsigned pair = 0;
  unsigned variable = 0;
};

class Pruner {
public:
  explicit Pruner(const AssignmentProblem &problem);
  PrunedProblem run();

private:
  Cost cost(const Neighbor &neighbor, unsigned variable, unsigned state,
            unsigned neighborState) const {
    const AssignmentProblem::Pair &pair = pairs[neighbor.pair];
    return pair.first == variable
               ? pair.costs[state * unary[pair.second].size() + neighborState]
               : pair.costs[neighborState * unary[variable].size() + state];
  }
  bool supported(unsigned variable, unsigned state,
                 const Neighbor &neighbor) const;
  /// `better` costs no more than `worse`, whatever the neighbours' states.
  bool dominates(unsigned variable, unsigned better, unsigned worse) const;
  /// False when a variable lost its last state.
  bool makeConsistent(std::deque<unsigned> pending);
  bool removeDominated();
  PrunedProblem compact() const;

  const AssignmentProblem &problem;
  std::vector<std::vector<Cost>> unary;
  std::vector<AssignmentProblem::Pair> pairs;
  std::vector<std::vector<Neighbor>> neighbors;
  /// The remaining states of every variable, ascending.
  std::vector<std::vector<unsigned>> alive;
  unsigned emptied = 0;
};

/// a - b of finite costs; may be negative.
Cost difference(const Cost &a, const Cost &b) {
  return {a.primary - b.primary, a.secondary - b.secondary};
}
} // namespace

Pruner::Pruner(const AssignmentProblem &problem)
    : problem(problem), unary(problem.states), neighbors(problem.states.size()),
      alive(problem.states.size()) {
  std::map<std::pair<unsigned, unsigned>, unsigned> known;
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    auto [a, b] = std::minmax(pair.first, pair.second);
    size_t sizeOfSecond = unary[pair.second].size();
    if (a == b) {
      for (unsigned i = 0; i < sizeOfSecond; ++i)
        unary[a][i] += pair.costs[i * sizeOfSecond + i];
      continue;
    }
    auto [at, isNew] = known.try_emplace({a, b}, pairs.size());
    if (isNew) {
      pairs.push_back({a, b, {}});
      pairs.back().costs.resize(unary[a].size() * unary[b].size());
      neighbors[a].push_back({at->second, b});
      neighbors[b].push_back({at->second, a});
    }
    std::vector<Cost> &costs = pairs[at->second].costs;
    for (unsigned i = 0; i < unary[pair.first].size(); ++i)
      for (unsigned j = 0; j < sizeOfSecond; ++j)
        costs[pair.first == a ? i * sizeOfSecond + j
                              : j * unary[b].size() + i] +=
            pair.costs[i * sizeOfSecond + j];
  }
  for (unsigned v = 0; v < unary.size(); ++v)
    for (unsigned i = 0; i < unary[v].size(); ++i)
      if (!unary[v][i].isInfinite())
        alive[v].push_back(i);
}

bool Pruner::supported(unsigned variable, unsigned state,
                       const Neighbor &neighbor) const {
  return std::any_of(
      alive[neighbor.variable].begin(), alive[neighbor.variable].end(),
      [&](unsigned other) {
        return !cost(neighbor, variable, state, other).isInfinite();
      });
}

bool Pruner::makeConsistent(std::deque<unsigned> pending) {
  std::vector<bool> queued(unary.size(), false);
  for (unsigned v : pending)
    queued[v] = true;
  while (!pending.empty()) {
    unsigned v = pending.front();
    pending.pop_front();
    queued[v] = false;
    size_t before = alive[v].size();
    std::erase_if(alive[v], [&](unsigned state) {
      return !std::all_of(neighbors[v].begin(), neighbors[v].end(),
                          [&](const Neighbor &neighbor) {
                            return supported(v, state, neighbor);
                          });
    });
    if (alive[v].empty()) {
      emptied = v;
      return false;
    }
    if (alive[v].size() == before)
      continue;
    for (const Neighbor &neighbor : neighbors[v])
      if (!queued[neighbor.variable]) {
        queued[neighbor.variable] = true;
        pending.push_back(neighbor.variable);
      }
  }
  return true;
}

bool Pruner::dominates(unsigned variable, unsigned better,
                       unsigned worse) const {
  // Lexicographic order is a total order that agrees with addition, so the
  // largest loss over every neighbour's states may be summed.
  Cost loss = difference(unary[variable][better], unary[variable][worse]);
  for (const Neighbor &neighbor : neighbors[variable]) {
    Cost largest;
    bool any = false;
    for (unsigned other : alive[neighbor.variable]) {
      Cost of = cost(neighbor, variable, worse, other);
      if (of.isInfinite())
        continue;
      Cost instead = cost(neighbor, variable, better, other);
      if (instead.isInfinite())
        return false;
      Cost lost = difference(instead, of);
      largest = any ? std::max(largest, lost) : lost;
      any = true;
    }
    loss.primary += largest.primary;
    loss.secondary += largest.secondary;
  }
  return loss < Cost() || (loss == Cost() && better < worse);
}

bool Pruner::removeDominated() {
  bool changed = false;
  // Of equal states the first dominates: where neighbours are as good, whose
  // turn it is matters.
  std::vector<unsigned> order(unary.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return problem.key(a) < problem.key(b);
  });
  for (unsigned v : order) {
    std::vector<unsigned> &states = alive[v];
    // A dominated state still dominates what it did, through the state that
    // dominates it; so the order of removal does not matter.
    for (size_t i = 0; i < states.size();) {
      bool remove = false;
      for (size_t j = 0; j < states.size() && !remove; ++j)
        remove = j != i && dominates(v, states[j], states[i]);
      if (remove) {
        states.erase(states.begin() + i);
        changed = true;
      } else {
        ++i;
      }
    }
  }
  return changed;
}

PrunedProblem Pruner::compact() const {
  PrunedProblem result;
  result.originalStates = alive;
  result.coreVariable.assign(unary.size(), PrunedProblem::fixed);
  for (unsigned v = 0; v < unary.size(); ++v) {
    if (alive[v].size() == 1)
      continue;
    std::vector<Cost> costs;
    for (unsigned state : alive[v]) {
      Cost sum = unary[v][state];
      for (const Neighbor &neighbor : neighbors[v])
        if (alive[neighbor.variable].size() == 1)
          sum += cost(neighbor, v, state, alive[neighbor.variable].front());
      costs.push_back(sum);
    }
    result.coreVariable[v] =
        result.core.addVariable(std::move(costs), problem.key(v));
  }
  for (unsigned v = 0; v < unary.size(); ++v)
    for (const Neighbor &neighbor : neighbors[v]) {
      unsigned w = neighbor.variable;
      if (v > w || alive[v].size() == 1 || alive[w].size() == 1)
        continue;
      std::vector<Cost> costs;
      for (unsigned i : alive[v])
        for (unsigned j : alive[w])
          costs.push_back(cost(neighbor, v, i, j));
      result.core.addPair(result.coreVariable[v], result.coreVariable[w],
                          std::move(costs));
    }
  return result;
}

PrunedProblem Pruner::run() {
  std::deque<unsigned> all;
  for (unsigned v = 0; v < unary.size(); ++v)
    all.push_back(v);
  do {
    if (!makeConsistent(all)) {
      PrunedProblem result;
      result.infeasible = true;
      result.emptied = emptied;
      return result;
    }
  } while (removeDominated());
  return compact();
}

PrunedProblem detail::prune(const AssignmentProblem &problem) {
  return Pruner(problem).run();
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
  result = eliminate(pruned.core, limits);
  result.coreVariables = pruned.core.states.size();
  std::vector<unsigned> assignment;
  for (unsigned v = 0; v < problem.states.size(); ++v) {
    unsigned core = pruned.coreVariable[v];
    if (core != PrunedProblem::fixed && core == result.variable &&
        result.outcome != AssignmentResult::Outcome::Optimal) {
      result.variable = v;
      return result;
    }
    unsigned state = 0;
    if (core != PrunedProblem::fixed &&
        result.outcome == AssignmentResult::Outcome::Optimal)
      state = result.assignment[core];
    assignment.push_back(pruned.originalStates[v][state]);
  }
  result.assignment = std::move(assignment);
  if (result.outcome == AssignmentResult::Outcome::Optimal)
    result.cost = problem.costOf(result.assignment);
  return result;
}

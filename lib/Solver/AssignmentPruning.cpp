//===- AssignmentPruning.cpp - states that cannot matter ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What states a variable keeps depends on its costs, its neighbours' states and
// the tables between them. Variables that see the same are looked at once.
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace tp;
using namespace tp::detail;

namespace {
/// Numbers lists of states, each once.
class DomainNumbers {
public:
  unsigned add(const std::vector<unsigned> &states) {
    auto [at, isNew] = numbers.try_emplace(states, domains.size());
    if (isNew)
      domains.push_back(&at->first);
    return at->second;
  }
  const std::vector<unsigned> &operator[](unsigned number) const {
    return *domains[number];
  }

private:
  std::map<std::vector<unsigned>, unsigned> numbers;
  std::vector<const std::vector<unsigned> *> domains;
};

class Pruner {
public:
  Pruner(const AssignmentProblem &problem, Domains given);
  PrunedProblem run();
  std::optional<std::vector<unsigned>>
  findConsistent(const std::vector<unsigned> &variables,
                 const Domains &preferences);

private:
  unsigned sumOf(const std::vector<std::pair<unsigned, bool>> &parts,
                 size_t rows, size_t columns);
  size_t numStates(unsigned v) const { return problem.states[v].size(); }
  const std::vector<Cost> &unary(unsigned v) const {
    return tables[unaryTable[v]];
  }
  const std::vector<unsigned> &alive(unsigned v) const {
    return domains[domain[v]];
  }
  /// What a state of `v` costs with those of `neighbor`.
  struct CostRow {
    const Cost *first;
    size_t step;
    const Cost &operator[](unsigned other) const { return first[other * step]; }
  };
  CostRow row(const Neighbor &neighbor, unsigned v, unsigned state) const {
    const Cost *costs = tables[neighbor.table].data();
    if (neighbor.rowsAreOwn)
      return {costs + state * numStates(neighbor.variable), 1};
    return {costs + state, numStates(v)};
  }
  Cost cost(const Neighbor &neighbor, unsigned v, unsigned state,
            unsigned other) const {
    return row(neighbor, v, state)[other];
  }
  bool isSupported(unsigned v, unsigned state) const;
  /// `better` costs no more than `worse`, whatever the neighbours' states.
  bool dominates(unsigned v, unsigned better, unsigned worse) const;
  unsigned withoutUnsupported(unsigned v) const;
  unsigned withoutDominated(unsigned v) const;
  /// What `compute` says of the variable, computed once for all that see the
  /// same.
  using Memo = std::map<std::vector<unsigned>, unsigned>;
  unsigned remembered(Memo &memo, unsigned v,
                      unsigned (Pruner::*compute)(unsigned) const);
  /// False when a variable lost its last state.
  bool makeConsistent(std::vector<unsigned> pending);
  bool removeDominated(std::vector<bool> &isStale);
  PrunedProblem compact() const;

  const AssignmentProblem &problem;
  CostTables tables;
  mutable DomainNumbers domains;
  std::vector<unsigned> unaryTable;
  std::vector<std::vector<Neighbor>> neighbors;
  /// The remaining states of every variable.
  std::vector<unsigned> domain;
  Memo supported, undominated;
  std::vector<unsigned> byKey;
  unsigned emptied = 0;
};

/// a - b of finite costs; may be negative.
Cost difference(const Cost &a, const Cost &b) {
  return {a.primary - b.primary, a.secondary - b.secondary};
}
} // namespace

/// Adds up tables, transposing those that are marked.
unsigned Pruner::sumOf(const std::vector<std::pair<unsigned, bool>> &parts,
                       size_t rows, size_t columns) {
  std::vector<Cost> sum(rows * columns);
  for (auto [table, isTransposed] : parts)
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        sum[i * columns + j] +=
            tables[table][isTransposed ? j * rows + i : i * columns + j];
  return tables.add(std::move(sum));
}

Pruner::Pruner(const AssignmentProblem &problem, Domains given)
    : problem(problem), tables(problem.tables),
      neighbors(problem.states.size()) {
  std::vector<std::vector<Cost>> unaries = problem.states;
  std::map<std::pair<unsigned, unsigned>,
           std::vector<std::pair<unsigned, bool>>>
      related;
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    if (pair.first == pair.second) {
      std::vector<Cost> &own = unaries[pair.first];
      for (unsigned i = 0; i < own.size(); ++i)
        own[i] += problem.costs(pair)[i * own.size() + i];
      continue;
    }
    auto [a, b] = std::minmax(pair.first, pair.second);
    related[{a, b}].emplace_back(pair.table, pair.first != a);
  }
  // By rows and parts: equal costs may be of tables of other shapes.
  std::map<std::pair<size_t, std::vector<std::pair<unsigned, bool>>>, unsigned>
      sums;
  for (auto &[variables, parts] : related) {
    auto [a, b] = variables;
    bool isOne = parts.size() == 1;
    unsigned table = parts.front().first;
    if (!isOne) {
      std::sort(parts.begin(), parts.end());
      auto [at, isNew] = sums.try_emplace({numStates(a), parts});
      if (isNew)
        at->second = sumOf(parts, numStates(a), numStates(b));
      table = at->second;
    }
    bool rowsAreOfA = !isOne || !parts.front().second;
    neighbors[a].push_back({b, table, rowsAreOfA});
    neighbors[b].push_back({a, table, !rowsAreOfA});
  }
  for (unsigned v = 0; v < unaries.size(); ++v) {
    std::vector<unsigned> states;
    if (given.empty()) {
      states.resize(unaries[v].size());
      std::iota(states.begin(), states.end(), 0);
    } else {
      states = std::move(given[v]);
    }
    std::erase_if(states,
                  [&](unsigned i) { return unaries[v][i].isInfinite(); });
    domain.push_back(domains.add(states));
    unaryTable.push_back(tables.add(std::move(unaries[v])));
  }
  byKey.resize(neighbors.size());
  std::iota(byKey.begin(), byKey.end(), 0);
  std::stable_sort(byKey.begin(), byKey.end(), [&](unsigned a, unsigned b) {
    return problem.key(a) < problem.key(b);
  });
}

bool Pruner::isSupported(unsigned v, unsigned state) const {
  return std::all_of(
      neighbors[v].begin(), neighbors[v].end(), [&](const Neighbor &neighbor) {
        const std::vector<unsigned> &others = alive(neighbor.variable);
        CostRow costs = row(neighbor, v, state);
        return std::any_of(others.begin(), others.end(), [&](unsigned other) {
          return !costs[other].isInfinite();
        });
      });
}

unsigned Pruner::withoutUnsupported(unsigned v) const {
  std::vector<unsigned> states = alive(v);
  std::erase_if(states, [&](unsigned state) { return !isSupported(v, state); });
  return domains.add(states);
}

bool Pruner::dominates(unsigned v, unsigned better, unsigned worse) const {
  // Lexicographic order is a total order that agrees with addition, so the
  // largest loss over every neighbour's states may be summed.
  Cost loss = difference(unary(v)[better], unary(v)[worse]);
  for (const Neighbor &neighbor : neighbors[v]) {
    Cost largest;
    bool any = false;
    CostRow ofWorse = row(neighbor, v, worse);
    CostRow ofBetter = row(neighbor, v, better);
    for (unsigned other : alive(neighbor.variable)) {
      const Cost &of = ofWorse[other];
      if (of.isInfinite())
        continue;
      const Cost &instead = ofBetter[other];
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

unsigned Pruner::withoutDominated(unsigned v) const {
  std::vector<unsigned> states = alive(v);
  // A dominated state still dominates what it did, through the state that
  // dominates it; so the order of removal does not matter.
  for (size_t i = 0; i < states.size();) {
    bool remove = false;
    for (size_t j = 0; j < states.size() && !remove; ++j)
      remove = j != i && dominates(v, states[j], states[i]);
    if (remove)
      states.erase(states.begin() + i);
    else
      ++i;
  }
  return domains.add(states);
}

unsigned Pruner::remembered(Memo &memo, unsigned v,
                            unsigned (Pruner::*compute)(unsigned) const) {
  std::vector<unsigned> seen = {unaryTable[v], domain[v]};
  for (const Neighbor &neighbor : neighbors[v]) {
    seen.push_back(neighbor.table);
    seen.push_back(neighbor.rowsAreOwn);
    seen.push_back(domain[neighbor.variable]);
  }
  auto [at, isNew] = memo.try_emplace(std::move(seen));
  if (isNew)
    at->second = (this->*compute)(v);
  return at->second;
}

bool Pruner::makeConsistent(std::vector<unsigned> pending) {
  std::vector<bool> isQueued(neighbors.size(), false);
  for (unsigned v : pending)
    isQueued[v] = true;
  for (size_t next = 0; next < pending.size(); ++next) {
    unsigned v = pending[next];
    isQueued[v] = false;
    unsigned kept = remembered(supported, v, &Pruner::withoutUnsupported);
    bool isSame = kept == domain[v];
    domain[v] = kept;
    if (alive(v).empty()) {
      emptied = v;
      return false;
    }
    if (isSame)
      continue;
    for (const Neighbor &neighbor : neighbors[v])
      if (!isQueued[neighbor.variable]) {
        isQueued[neighbor.variable] = true;
        pending.push_back(neighbor.variable);
      }
  }
  return true;
}

/// `isStale`: what the variable sees has changed since it was looked at.
bool Pruner::removeDominated(std::vector<bool> &isStale) {
  bool changed = false;
  // Of equal states the first dominates: where neighbours are as good, whose
  // turn it is matters.
  for (unsigned v : byKey) {
    if (!isStale[v])
      continue;
    isStale[v] = false;
    unsigned kept = remembered(undominated, v, &Pruner::withoutDominated);
    if (kept == domain[v])
      continue;
    domain[v] = kept;
    changed = true;
    for (const Neighbor &neighbor : neighbors[v])
      isStale[neighbor.variable] = true;
  }
  return changed;
}

PrunedProblem Pruner::compact() const {
  PrunedProblem result;
  result.coreVariable.assign(neighbors.size(), PrunedProblem::fixed);
  for (unsigned v = 0; v < neighbors.size(); ++v) {
    result.originalStates.push_back(alive(v));
    if (alive(v).size() == 1) {
      unsigned state = alive(v).front();
      result.fixedCost += unary(v)[state];
      for (const Neighbor &neighbor : neighbors[v])
        if (neighbor.variable < v && alive(neighbor.variable).size() == 1)
          result.fixedCost +=
              cost(neighbor, v, state, alive(neighbor.variable).front());
      continue;
    }
    std::vector<Cost> costs;
    for (unsigned state : alive(v)) {
      Cost sum = unary(v)[state];
      for (const Neighbor &neighbor : neighbors[v])
        if (alive(neighbor.variable).size() == 1)
          sum += cost(neighbor, v, state, alive(neighbor.variable).front());
      costs.push_back(sum);
    }
    result.coreVariable[v] =
        result.core.addVariable(std::move(costs), problem.key(v));
  }
  // By table, its rows, and both domains.
  std::map<std::tuple<unsigned, size_t, unsigned, unsigned>, unsigned>
      restricted;
  for (unsigned v = 0; v < neighbors.size(); ++v)
    for (const Neighbor &neighbor : neighbors[v]) {
      unsigned w = neighbor.variable;
      if (!neighbor.rowsAreOwn || alive(v).size() == 1 || alive(w).size() == 1)
        continue;
      auto [at, isNew] = restricted.try_emplace(
          {neighbor.table, numStates(v), domain[v], domain[w]});
      if (isNew) {
        std::vector<Cost> costs;
        for (unsigned i : alive(v))
          for (unsigned j : alive(w))
            costs.push_back(cost(neighbor, v, i, j));
        at->second = result.core.tables.add(std::move(costs));
      }
      result.core.addPair(result.coreVariable[v], result.coreVariable[w],
                          at->second);
    }
  return result;
}

PrunedProblem Pruner::run() {
  std::vector<unsigned> all(neighbors.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<bool> isStale(neighbors.size(), true);
  bool changed = true;
  while (changed) {
    std::vector<unsigned> before = domain;
    if (!makeConsistent(all)) {
      PrunedProblem result;
      result.infeasible = true;
      result.emptied = emptied;
      return result;
    }
    for (unsigned v : all)
      if (domain[v] != before[v])
        for (const Neighbor &neighbor : neighbors[v])
          isStale[neighbor.variable] = isStale[v] = true;
    changed = removeDominated(isStale);
  }
  return compact();
}

PrunedProblem detail::prune(const AssignmentProblem &problem, Domains given) {
  return Pruner(problem, std::move(given)).run();
}

std::vector<unsigned>
PrunedProblem::original(const std::vector<unsigned> &coreAssignment) const {
  std::vector<unsigned> assignment;
  for (unsigned v = 0; v < coreVariable.size(); ++v)
    assignment.push_back(
        originalStates[v][coreVariable[v] == fixed
                              ? 0
                              : coreAssignment[coreVariable[v]]]);
  return assignment;
}

std::optional<std::vector<unsigned>>
Pruner::findConsistent(const std::vector<unsigned> &variables,
                       const Domains &preferences) {
  if (!makeConsistent(byKey))
    return std::nullopt;
  for (unsigned v : variables) {
    const std::vector<unsigned> choices = alive(v);
    if (choices.size() == 1)
      continue;
    std::vector<unsigned> before = domain, around;
    for (const Neighbor &neighbor : neighbors[v])
      around.push_back(neighbor.variable);
    bool isFound = false;
    for (unsigned state : preferences[v]) {
      if (!std::binary_search(choices.begin(), choices.end(), state))
        continue;
      domain[v] = domains.add({state});
      if ((isFound = makeConsistent(around)))
        break;
      domain = before;
    }
    if (!isFound)
      return std::nullopt;
  }
  std::vector<unsigned> assignment;
  for (unsigned v = 0; v < domain.size(); ++v)
    assignment.push_back(alive(v).front());
  return assignment;
}

std::optional<std::vector<unsigned>>
detail::findConsistent(const AssignmentProblem &problem,
                       const std::vector<unsigned> &variables,
                       const Domains &preferences) {
  return Pruner(problem, {}).findConsistent(variables, preferences);
}

//===- BucketElimination.cpp - exact min-sum elimination ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include <algorithm>
#include <map>
#include <memory>

using namespace tp;
using namespace tp::detail;

namespace {
/// Costs over the states of several variables, the last one fastest. The least
/// primary and the least secondary is 0: what is alike in two layers stays
/// alike though the layers have cost something by then.
struct Table {
  std::vector<unsigned> variables;
  std::shared_ptr<const std::vector<Cost>> costs;
  /// Equal for equal costs, if they were made in the same way.
  unsigned number = 0;
};

/// The best state of an eliminated variable for every joint state of the
/// variables it met.
using BestStates = std::vector<uint32_t>;

/// What was decided about one eliminated variable.
struct Elimination {
  unsigned variable = 0;
  std::vector<unsigned> variables;
  std::shared_ptr<const BestStates> best;
};

/// A join that was done.
struct JoinedTable {
  std::shared_ptr<const std::vector<Cost>> costs;
  std::shared_ptr<const BestStates> best;
  unsigned number = 0;
  bool isInfinite = false;
};

class Eliminator {
public:
  explicit Eliminator(const AssignmentProblem &problem);
  AssignmentResult run(const EliminationOrder &order);

private:
  size_t numStates(unsigned variable) const {
    return problem.states[variable].size();
  }
  std::vector<unsigned> joinedVariables(unsigned variable) const;
  /// What the join of the variable's tables is made of, without its numbers.
  std::vector<unsigned> signature(unsigned variable,
                                  const std::vector<unsigned> &variables) const;
  JoinedTable join(unsigned variable, const std::vector<unsigned> &variables);
  /// False where every state is infinite.
  bool eliminate(unsigned variable);
  std::vector<unsigned> decide() const;

  const AssignmentProblem &problem;
  std::vector<Table> tables;
  /// The live tables of every variable, and the variables they relate it to.
  std::vector<std::vector<unsigned>> tablesOf;
  std::vector<std::vector<unsigned>> neighbors;
  std::vector<Elimination> eliminations;
  std::map<std::vector<unsigned>, JoinedTable> known;
  unsigned nextNumber = 0;
  AssignmentResult result;
};
} // namespace

Eliminator::Eliminator(const AssignmentProblem &problem)
    : problem(problem), tablesOf(problem.states.size()),
      neighbors(problem.states.size()) {
  CostTables numbers = problem.tables;
  std::vector<std::shared_ptr<const std::vector<Cost>>> shared;
  auto add = [&](std::vector<unsigned> variables, unsigned number) {
    shared.resize(numbers.size());
    if (!shared[number])
      shared[number] =
          std::make_shared<const std::vector<Cost>>(numbers[number]);
    for (unsigned v : variables)
      tablesOf[v].push_back(tables.size());
    tables.push_back({std::move(variables), shared[number], number});
  };
  for (unsigned v = 0; v < problem.states.size(); ++v)
    add({v}, numbers.add(problem.states[v]));
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    add({pair.first, pair.second}, pair.table);
    neighbors[pair.first].push_back(pair.second);
    neighbors[pair.second].push_back(pair.first);
  }
  for (std::vector<unsigned> &others : neighbors)
    std::sort(others.begin(), others.end());
  nextNumber = numbers.size();
}

namespace {
/// A table on the way through the entries of a new one.
struct Input {
  const Cost *at;
  /// How far `at` moves when the state of the eliminated variable, or of a
  /// variable of the new table, grows by one.
  size_t stride = 0;
  std::vector<size_t> strides;
};
} // namespace

/// Without saturation: inputs are at most 2^60, and a sum stops growing when it
/// is infinite.
static void addTo(Cost &sum, const Cost &cost) {
  sum.primary += cost.primary;
  sum.secondary += cost.secondary;
}

static bool isLess(const Cost &a, const Cost &b) {
  return a.primary < b.primary ||
         (a.primary == b.primary && a.secondary < b.secondary);
}

/// The variables that `variable` meets, first those that most of its tables
/// know: what the last one does not change is added up once for all its states.
std::vector<unsigned> Eliminator::joinedVariables(unsigned variable) const {
  std::vector<unsigned> variables = neighbors[variable];
  if (variables.empty())
    return variables;
  auto numInputs = [&](unsigned v) {
    return std::count_if(
        tablesOf[variable].begin(), tablesOf[variable].end(), [&](unsigned id) {
          const auto &all = tables[id].variables;
          return std::find(all.begin(), all.end(), v) != all.end();
        });
  };
  size_t last = 0;
  for (size_t i = 1; i < variables.size(); ++i) {
    auto rank = [&](unsigned v) {
      return std::pair(-numInputs(v), numStates(v));
    };
    if (rank(variables[i]) > rank(variables[last]))
      last = i;
  }
  std::rotate(variables.begin() + last, variables.begin() + last + 1,
              variables.end());
  return variables;
}

std::vector<unsigned>
Eliminator::signature(unsigned variable,
                      const std::vector<unsigned> &variables) const {
  std::vector<unsigned> made = {static_cast<unsigned>(numStates(variable))};
  for (unsigned v : variables)
    made.push_back(numStates(v));
  for (unsigned id : tablesOf[variable]) {
    made.push_back(tables[id].number);
    for (unsigned v : tables[id].variables)
      made.push_back(std::find(variables.begin(), variables.end(), v) -
                     variables.begin());
  }
  return made;
}

/// Sums all tables of `variable` and takes the minimum over its states.
JoinedTable Eliminator::join(unsigned variable,
                             const std::vector<unsigned> &variables) {
  // Inputs that know the last variable, and those that do not.
  std::vector<Input> inner, outer;
  for (unsigned id : tablesOf[variable]) {
    const Table &table = tables[id];
    Input input{table.costs->data(), 0,
                std::vector<size_t>(variables.size(), 0)};
    size_t stride = 1;
    for (size_t i = table.variables.size(); i-- > 0;) {
      unsigned v = table.variables[i];
      if (v == variable)
        input.stride = stride;
      else
        input.strides[std::find(variables.begin(), variables.end(), v) -
                      variables.begin()] = stride;
      stride *= numStates(v);
    }
    bool knowsLast = !variables.empty() && input.strides.back() != 0;
    (knowsLast ? inner : outer).push_back(std::move(input));
  }

  size_t entries = 1;
  for (unsigned v : variables)
    entries *= numStates(v);
  size_t states = numStates(variable);
  size_t lastStates = variables.empty() ? 1 : numStates(variables.back());
  // Entries come one after the other.
  std::vector<Cost> joined;
  BestStates bestStates;
  joined.reserve(entries);
  bestStates.reserve(entries);
  Cost least = {saturatedCost, saturatedCost};
  std::vector<Cost> sums(states);
  std::vector<size_t> position(variables.size(), 0);
  for (size_t entry = 0; entry < entries; entry += lastStates) {
    for (size_t state = 0; state < states; ++state) {
      Cost sum;
      for (const Input &input : outer) {
        addTo(sum, input.at[state * input.stride]);
        if (sum.isInfinite())
          break;
      }
      sums[state] = sum;
    }
    for (size_t last = 0; last < lastStates; ++last) {
      Cost best = Cost::infinite();
      uint32_t bestState = 0;
      for (size_t state = 0; state < states; ++state) {
        Cost sum = sums[state];
        for (const Input &input : inner) {
          if (!isLess(sum, best))
            break;
          addTo(sum,
                input.at[state * input.stride + last * input.strides.back()]);
        }
        if (isLess(sum, best)) {
          best = sum;
          bestState = state;
        }
      }
      best.secondary = std::min(best.secondary, saturatedCost);
      joined.push_back(best);
      bestStates.push_back(bestState);
      if (!best.isInfinite()) {
        least.primary = std::min(least.primary, best.primary);
        least.secondary = std::min(least.secondary, best.secondary);
      }
    }
    // The states of all but the last variable.
    for (size_t i = variables.size() - (variables.empty() ? 0 : 1); i-- > 0;) {
      bool wraps = ++position[i] == numStates(variables[i]);
      for (std::vector<Input> *inputs : {&inner, &outer})
        for (Input &input : *inputs) {
          if (wraps)
            input.at -= input.strides[i] * (position[i] - 1);
          else
            input.at += input.strides[i];
        }
      if (!wraps)
        break;
      position[i] = 0;
    }
  }
  result.work +=
      static_cast<double>(entries) * states *
      (inner.size() + static_cast<double>(outer.size()) / lastStates);

  bool isInfinite = least.isInfinite();
  if (!isInfinite)
    for (Cost &cost : joined)
      if (!cost.isInfinite())
        cost = {cost.primary - least.primary, cost.secondary - least.secondary};
  return {std::make_shared<const std::vector<Cost>>(std::move(joined)),
          std::make_shared<const BestStates>(std::move(bestStates)),
          nextNumber++, isInfinite};
}

bool Eliminator::eliminate(unsigned variable) {
  std::vector<unsigned> variables = joinedVariables(variable);
  std::vector<unsigned> made = signature(variable, variables);
  JoinedTable joined;
  if (auto at = known.find(made); at != known.end())
    joined = at->second;
  else
    joined = join(variable, variables);
  size_t entries = joined.costs->size();
  if (entries <= cachedEntries)
    known.emplace(std::move(made), joined);
  result.tableEntries =
      std::max(result.tableEntries, static_cast<double>(entries));
  if (joined.isInfinite)
    return false;

  std::vector<unsigned> dead = std::move(tablesOf[variable]);
  tablesOf[variable].clear();
  for (unsigned id : dead)
    tables[id] = {};
  std::vector<unsigned> others = std::move(neighbors[variable]);
  neighbors[variable].clear();
  for (unsigned v : others) {
    std::erase_if(tablesOf[v], [&](unsigned id) {
      return std::find(dead.begin(), dead.end(), id) != dead.end();
    });
    tablesOf[v].push_back(tables.size());
    std::vector<unsigned> merged;
    std::set_union(neighbors[v].begin(), neighbors[v].end(), others.begin(),
                   others.end(), std::back_inserter(merged));
    std::erase_if(merged, [&](unsigned w) { return w == v || w == variable; });
    neighbors[v] = std::move(merged);
  }
  eliminations.push_back({variable, variables, joined.best});
  tables.push_back({std::move(variables), joined.costs, joined.number});
  return true;
}

std::vector<unsigned> Eliminator::decide() const {
  std::vector<unsigned> assignment(problem.states.size(), 0);
  for (size_t i = eliminations.size(); i-- > 0;) {
    const Elimination &elimination = eliminations[i];
    size_t entry = 0;
    for (unsigned v : elimination.variables)
      entry = entry * numStates(v) + assignment[v];
    assignment[elimination.variable] = (*elimination.best)[entry];
  }
  return assignment;
}

AssignmentResult Eliminator::run(const EliminationOrder &order) {
  for (unsigned variable : order.variables)
    if (!eliminate(variable)) {
      result.outcome = AssignmentResult::Outcome::Infeasible;
      result.variable = variable;
      return result;
    }
  result.assignment = decide();
  result.cost = result.bound = problem.costOf(result.assignment);
  return result;
}

AssignmentResult detail::eliminate(const AssignmentProblem &core,
                                   const EliminationOrder &order) {
  return Eliminator(core).run(order);
}

//===- BucketElimination.cpp - exact min-sum elimination ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Assignment.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace tp;

namespace {
/// Costs over the states of several variables, the last one fastest.
struct Table {
  std::vector<unsigned> variables;
  std::vector<Cost> costs;
};

/// What was decided about one eliminated variable: its best state for every
/// joint state of the variables it met.
struct Elimination {
  unsigned variable = 0;
  std::vector<unsigned> variables;
  std::vector<uint16_t> best;
};

class Eliminator {
public:
  Eliminator(const AssignmentProblem &problem, const AssignmentLimits &limits);
  AssignmentResult run();

private:
  size_t numStates(unsigned variable) const {
    return problem.states[variable].size();
  }
  /// The size of the table that eliminating `variable` makes.
  double tableSize(unsigned variable) const;
  std::vector<unsigned> joinedVariables(unsigned variable) const;
  void join(unsigned variable);
  std::vector<unsigned> decide() const;

  const AssignmentProblem &problem;
  const AssignmentLimits &limits;
  std::vector<Table> tables;
  /// The live tables of every variable, and the variables they relate it to.
  std::vector<std::vector<unsigned>> tablesOf;
  std::vector<std::set<unsigned>> neighbors;
  std::vector<Elimination> eliminations;
  AssignmentResult result;
};
} // namespace

Eliminator::Eliminator(const AssignmentProblem &problem,
                       const AssignmentLimits &limits)
    : problem(problem), limits(limits), tablesOf(problem.states.size()),
      neighbors(problem.states.size()) {
  auto add = [&](std::vector<unsigned> variables, std::vector<Cost> costs) {
    for (unsigned v : variables)
      tablesOf[v].push_back(tables.size());
    tables.push_back({std::move(variables), std::move(costs)});
  };
  for (unsigned v = 0; v < problem.states.size(); ++v)
    add({v}, problem.states[v]);
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    add({pair.first, pair.second}, pair.costs);
    neighbors[pair.first].insert(pair.second);
    neighbors[pair.second].insert(pair.first);
  }
}

double Eliminator::tableSize(unsigned variable) const {
  double size = 1;
  for (unsigned neighbor : neighbors[variable])
    size *= numStates(neighbor);
  return size;
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
  std::vector<unsigned> variables(neighbors[variable].begin(),
                                  neighbors[variable].end());
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

/// Sums all tables of `variable`, takes the minimum over its states, and puts
/// the result in their place.
void Eliminator::join(unsigned variable) {
  std::vector<unsigned> variables = joinedVariables(variable);
  // Inputs that know the last variable, and those that do not.
  std::vector<Input> inner, outer;
  for (unsigned id : tablesOf[variable]) {
    const Table &table = tables[id];
    Input input{table.costs.data(), 0,
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

  size_t entries = static_cast<size_t>(tableSize(variable));
  size_t states = numStates(variable);
  size_t lastStates = variables.empty() ? 1 : numStates(variables.back());
  Table joined{variables, std::vector<Cost>(entries)};
  Elimination elimination{variable, variables, std::vector<uint16_t>(entries)};
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
      uint16_t bestState = 0;
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
      joined.costs[entry + last] = best;
      elimination.best[entry + last] = bestState;
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

  std::vector<unsigned> dead = std::move(tablesOf[variable]);
  tablesOf[variable].clear();
  for (unsigned id : dead)
    tables[id] = {};
  for (unsigned v : variables) {
    std::erase_if(tablesOf[v], [&](unsigned id) {
      return std::find(dead.begin(), dead.end(), id) != dead.end();
    });
    tablesOf[v].push_back(tables.size());
    neighbors[v].erase(variable);
    for (unsigned other : variables)
      if (other != v)
        neighbors[v].insert(other);
  }
  eliminations.push_back(std::move(elimination));
  tables.push_back(std::move(joined));
}

std::vector<unsigned> Eliminator::decide() const {
  std::vector<unsigned> assignment(problem.states.size(), 0);
  for (size_t i = eliminations.size(); i-- > 0;) {
    const Elimination &elimination = eliminations[i];
    size_t entry = 0;
    for (unsigned v : elimination.variables)
      entry = entry * numStates(v) + assignment[v];
    assignment[elimination.variable] = elimination.best[entry];
  }
  return assignment;
}

AssignmentResult Eliminator::run() {
  // The smallest table first. By work, that is times the states of the
  // variable, variables of many states that relate few others come late, and
  // tables grow tenfold on training graphs.
  std::set<std::tuple<double, uint64_t, unsigned>> order;
  std::vector<double> sizes(problem.states.size());
  for (unsigned v = 0; v < problem.states.size(); ++v) {
    sizes[v] = tableSize(v);
    order.insert({sizes[v], problem.key(v), v});
  }
  while (!order.empty()) {
    unsigned v = std::get<2>(*order.begin());
    order.erase(order.begin());
    // Best states are kept in 16 bits.
    bool hasTooManyStates = numStates(v) > UINT16_MAX;
    if (double size = sizes[v];
        size > limits.tableEntries || hasTooManyStates) {
      result.outcome = AssignmentResult::Outcome::TooLarge;
      result.variable = v;
      result.tableEntries = std::max(size, static_cast<double>(numStates(v)));
      return result;
    }
    std::vector<unsigned> touched(neighbors[v].begin(), neighbors[v].end());
    join(v);
    neighbors[v].clear();
    result.tableEntries = std::max(
        result.tableEntries, static_cast<double>(tables.back().costs.size()));
    // Without neighbours the new table is one number: the minimum over this
    // connected part.
    if (touched.empty() && tables.back().costs.front().isInfinite()) {
      result.outcome = AssignmentResult::Outcome::Infeasible;
      result.variable = v;
      return result;
    }
    for (unsigned other : touched) {
      order.erase({sizes[other], problem.key(other), other});
      sizes[other] = tableSize(other);
      order.insert({sizes[other], problem.key(other), other});
    }
  }
  result.assignment = decide();
  return result;
}

AssignmentResult detail::eliminate(const AssignmentProblem &problem,
                                   const AssignmentLimits &limits) {
  return Eliminator(problem, limits).run();
}

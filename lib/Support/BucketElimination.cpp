//===- BucketElimination.cpp - exact min-sum elimination ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Assignment.h"
#include <algorithm>
#include <set>

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

/// Sums all tables of `variable`, takes the minimum over its states, and puts
/// the result in their place.
void Eliminator::join(unsigned variable) {
  struct Input {
    const Cost *at;
    size_t stride = 0;
    /// How far `at` moves when the state of a variable of the new table grows
    /// by one.
    std::vector<size_t> strides;
  };
  std::vector<unsigned> variables(neighbors[variable].begin(),
                                  neighbors[variable].end());
  std::vector<Input> inputs;
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
        input.strides[std::lower_bound(variables.begin(), variables.end(), v) -
                      variables.begin()] = stride;
      stride *= numStates(v);
    }
    inputs.push_back(std::move(input));
  }

  size_t entries = static_cast<size_t>(tableSize(variable));
  size_t states = numStates(variable);
  Table joined{variables, {}};
  joined.costs.reserve(entries);
  Elimination elimination{variable, variables, {}};
  elimination.best.reserve(entries);
  std::vector<size_t> position(variables.size(), 0);
  for (size_t entry = 0; entry < entries; ++entry) {
    Cost best = Cost::infinite();
    uint16_t bestState = 0;
    for (size_t state = 0; state < states; ++state) {
      Cost sum;
      for (const Input &input : inputs) {
        sum += input.at[state * input.stride];
        if (!(sum < best))
          break;
      }
      if (sum < best) {
        best = sum;
        bestState = state;
      }
    }
    joined.costs.push_back(best);
    elimination.best.push_back(bestState);
    for (size_t i = variables.size(); i-- > 0;) {
      bool wraps = ++position[i] == numStates(variables[i]);
      for (Input &input : inputs) {
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
  result.work += static_cast<double>(entries) * states * inputs.size();

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
  std::set<std::pair<double, unsigned>> order;
  std::vector<double> sizes(problem.states.size());
  for (unsigned v = 0; v < problem.states.size(); ++v) {
    sizes[v] = tableSize(v);
    order.insert({sizes[v], v});
  }
  while (!order.empty()) {
    unsigned v = order.begin()->second;
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
      order.erase({sizes[other], other});
      sizes[other] = tableSize(other);
      order.insert({sizes[other], other});
    }
  }
  result.assignment = decide();
  return result;
}

AssignmentResult detail::eliminate(const AssignmentProblem &problem,
                                   const AssignmentLimits &limits) {
  return Eliminator(problem, limits).run();
}

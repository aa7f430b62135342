//===- AssignmentTest.cpp - exact minimum-cost assignment ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Assignment.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>
#include <random>

using namespace tp;
using Outcome = AssignmentResult::Outcome;

namespace {
/// Calls `visit` with every assignment.
template <typename Visit>
void forEachAssignment(const AssignmentProblem &problem, Visit visit) {
  std::vector<unsigned> assignment(problem.states.size(), 0);
  while (true) {
    visit(assignment);
    size_t v = 0;
    while (v < assignment.size() && ++assignment[v] == problem.states[v].size())
      assignment[v++] = 0;
    if (v == assignment.size())
      return;
  }
}

Cost bruteForce(const AssignmentProblem &problem) {
  Cost best = Cost::infinite();
  forEachAssignment(problem, [&](const std::vector<unsigned> &assignment) {
    best = std::min(best, problem.costOf(assignment));
  });
  return best;
}

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  unsigned below(unsigned n) { return engine() % n; }
  Cost cost(unsigned infinitePercent) {
    if (below(100) < infinitePercent)
      return Cost::infinite();
    return {below(4), below(3)};
  }
  AssignmentProblem problem(unsigned maxVariables) {
    AssignmentProblem problem;
    unsigned variables = 1 + below(maxVariables);
    unsigned infinitePercent = below(50);
    for (unsigned v = 0; v < variables; ++v) {
      std::vector<Cost> costs(1 + below(4));
      for (Cost &c : costs)
        c = cost(infinitePercent / 4);
      problem.addVariable(std::move(costs));
    }
    for (unsigned i = 0, e = below(2 * variables + 1); i < e; ++i) {
      unsigned a = below(variables), b = below(variables);
      std::vector<Cost> costs(problem.states[a].size() *
                              problem.states[b].size());
      for (Cost &c : costs)
        c = cost(infinitePercent);
      problem.addPair(a, b, std::move(costs));
    }
    return problem;
  }
  std::mt19937 engine;
};
} // namespace

TEST(Cost, IsLexicographicAndSaturates) {
  EXPECT_LT((Cost{1, 9}), (Cost{2, 0}));
  EXPECT_LT((Cost{1, 1}), (Cost{1, 2}));
  EXPECT_TRUE((Cost::infinite() + Cost::infinite()).isInfinite());
  EXPECT_EQ(Cost::infinite() + Cost({5, 5}), Cost::infinite());
}

TEST(Assignment, EqualsBruteForce) {
  unsigned feasible = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    AssignmentProblem problem = Random(seed).problem(7);
    Cost best = bruteForce(problem);
    AssignmentResult result = solve(problem);
    ASSERT_EQ(result.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    ASSERT_EQ(result.outcome, Outcome::Optimal);
    ASSERT_EQ(result.cost, best) << "seed " << seed;
    ASSERT_EQ(problem.costOf(result.assignment), best) << "seed " << seed;
  }
  // Both kinds of problem were met often.
  EXPECT_GT(feasible, 1000u);
  EXPECT_LT(feasible, 5500u);
}

TEST(Assignment, EliminationAloneEqualsBruteForce) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    AssignmentProblem problem = Random(seed).problem(6);
    // Elimination wants each pair of different variables once.
    AssignmentProblem simple = problem;
    simple.pairs.clear();
    std::vector<std::pair<unsigned, unsigned>> seen;
    for (AssignmentProblem::Pair &pair : problem.pairs) {
      auto key = std::minmax(pair.first, pair.second);
      if (pair.first == pair.second ||
          std::find(seen.begin(), seen.end(),
                    std::pair<unsigned, unsigned>(key)) != seen.end())
        continue;
      seen.push_back(key);
      simple.pairs.push_back(pair);
    }
    Cost best = bruteForce(simple);
    AssignmentResult result = detail::eliminate(simple, {});
    ASSERT_EQ(result.outcome == Outcome::Infeasible, best.isInfinite());
    if (!best.isInfinite()) {
      ASSERT_EQ(simple.costOf(result.assignment), best) << "seed " << seed;
    }
  }
}

// With distinct keys the answer is one, whatever the order of variables.
TEST(Assignment, DoesNotDependOnTheOrderOfVariables) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Random random(seed);
    AssignmentProblem problem = random.problem(7);
    problem.keys.clear();
    for (unsigned v = 0; v < problem.states.size(); ++v)
      problem.keys.push_back(random.engine());
    std::vector<unsigned> place(problem.states.size());
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random.engine);
    AssignmentProblem shuffled;
    shuffled.states.resize(place.size());
    shuffled.keys.resize(place.size());
    for (unsigned v = 0; v < place.size(); ++v) {
      shuffled.states[place[v]] = problem.states[v];
      shuffled.keys[place[v]] = problem.keys[v];
    }
    for (const AssignmentProblem::Pair &pair : problem.pairs)
      shuffled.addPair(place[pair.first], place[pair.second], pair.costs);
    std::reverse(shuffled.pairs.begin(), shuffled.pairs.end());

    AssignmentResult one = solve(problem), other = solve(shuffled);
    ASSERT_EQ(one.outcome, other.outcome);
    if (one.outcome != Outcome::Optimal)
      continue;
    for (unsigned v = 0; v < place.size(); ++v)
      ASSERT_EQ(one.assignment[v], other.assignment[place[v]])
          << "seed " << seed;
  }
}

TEST(Assignment, PruningFixesAChainOfPins) {
  // Equality along a chain whose first state is given.
  AssignmentProblem problem;
  const Cost no = Cost::infinite();
  problem.addVariable({no, Cost(), no});
  for (unsigned v = 1; v < 50; ++v) {
    problem.addVariable({Cost(), Cost(), Cost()});
    problem.addPair(v - 1, v, {{}, no, no, no, {}, no, no, no, {}});
  }
  AssignmentResult result = solve(problem);
  EXPECT_EQ(result.coreVariables, 0u);
  EXPECT_EQ(result.assignment, std::vector<unsigned>(50, 1));
}

TEST(Assignment, SaysWhenATableWouldBeTooLarge) {
  // Twelve variables of three states, all related: eliminating one makes a
  // table over the other eleven.
  Random random(1);
  AssignmentProblem problem;
  for (unsigned v = 0; v < 12; ++v)
    problem.addVariable(std::vector<Cost>(3));
  for (unsigned a = 0; a < 12; ++a)
    for (unsigned b = a + 1; b < 12; ++b) {
      std::vector<Cost> costs(9);
      for (Cost &cost : costs)
        cost = {random.below(1000), 0};
      problem.addPair(a, b, std::move(costs));
    }
  AssignmentResult result = solve(problem, {1000});
  EXPECT_EQ(result.outcome, Outcome::TooLarge);
  EXPECT_EQ(result.tableEntries, 177147);
  EXPECT_EQ(solve(problem).outcome, Outcome::Optimal);
}

TEST(Assignment, NamesAVariableWithoutStates) {
  AssignmentProblem problem;
  problem.addVariable({Cost()});
  problem.addVariable({Cost::infinite(), Cost::infinite()});
  AssignmentResult result = solve(problem);
  EXPECT_EQ(result.outcome, Outcome::Infeasible);
  EXPECT_EQ(result.variable, 1u);
}

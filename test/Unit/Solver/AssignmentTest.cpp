//===- AssignmentTest.cpp - exact minimum-cost assignment ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/Assignment.h"
#include "tp/Solver/AssignmentSteps.h"
#include "tp/Solver/DualAscent.h"
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

/// The problem with the first pair of every two variables only, as elimination
/// and bounds take it.
AssignmentProblem onePairEach(const AssignmentProblem &problem) {
  AssignmentProblem simple = problem;
  simple.pairs.clear();
  std::vector<std::pair<unsigned, unsigned>> seen;
  for (const AssignmentProblem::Pair &pair : problem.pairs) {
    std::pair<unsigned, unsigned> key = std::minmax(pair.first, pair.second);
    if (pair.first == pair.second ||
        std::find(seen.begin(), seen.end(), key) != seen.end())
      continue;
    seen.push_back(key);
    simple.pairs.push_back(pair);
  }
  return simple;
}

/// Nothing is easy: bounds are always asked for.
AssignmentLimits nothingEasy() { return {.easyBytes = 0}; }
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
    AssignmentProblem simple = onePairEach(problem);
    Cost best = bruteForce(simple);
    AssignmentResult result =
        detail::eliminate(simple, detail::eliminationOrder(simple, {}));
    ASSERT_EQ(result.outcome == Outcome::Infeasible, best.isInfinite());
    if (!best.isInfinite()) {
      ASSERT_EQ(simple.costOf(result.assignment), best) << "seed " << seed;
    }
  }
}

TEST(Assignment, ReductionKeepsTheBest) {
  unsigned left = 0, gone = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    AssignmentProblem problem = onePairEach(Random(seed).problem(7));
    Cost best = bruteForce(problem);
    detail::ReducedProblem reduced = detail::reduce(problem);
    if (reduced.infeasible) {
      ASSERT_TRUE(best.isInfinite()) << "seed " << seed;
      ASSERT_LT(reduced.emptied, problem.states.size());
      continue;
    }
    gone += reduced.steps.size();
    left += reduced.core.states.size();
    Cost least = Cost::infinite();
    forEachAssignment(
        reduced.core, [&](const std::vector<unsigned> &assignment) {
          Cost cost = reduced.core.costOf(assignment) + reduced.fixedCost;
          ASSERT_EQ(problem.costOf(reduced.original(assignment)), cost)
              << "seed " << seed;
          least = std::min(least, cost);
        });
    ASSERT_EQ(least, best) << "seed " << seed;
    for (unsigned v = 0; v < reduced.core.states.size(); ++v)
      ASSERT_GT(std::count_if(reduced.core.pairs.begin(),
                              reduced.core.pairs.end(),
                              [&](const AssignmentProblem::Pair &pair) {
                                return pair.first == v || pair.second == v;
                              }),
                2);
  }
  EXPECT_GT(left, 100u);
  EXPECT_GT(gone, 1000u);
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
      shuffled.addPair(place[pair.first], place[pair.second],
                       problem.costs(pair));
    std::reverse(shuffled.pairs.begin(), shuffled.pairs.end());

    for (const AssignmentLimits &limits : {AssignmentLimits(), nothingEasy()}) {
      AssignmentResult one = solve(problem, limits);
      AssignmentResult other = solve(shuffled, limits);
      ASSERT_EQ(one.outcome, other.outcome);
      if (one.outcome != Outcome::Optimal)
        continue;
      for (unsigned v = 0; v < place.size(); ++v)
        ASSERT_EQ(one.assignment[v], other.assignment[place[v]])
            << "seed " << seed;
    }
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

// Tables of one content and two shapes: 2 x 6 and 3 x 4.
TEST(Assignment, TellsEqualCostsOfOtherShapesApart) {
  AssignmentProblem problem;
  std::vector<Cost> costs;
  for (int64_t i = 0; i < 12; ++i)
    costs.push_back({i * 7 % 12, 0});
  for (unsigned states : {2, 6, 3, 4})
    problem.addVariable(std::vector<Cost>(states));
  problem.addPair(0, 1, costs);
  problem.addPair(0, 1, costs);
  problem.addPair(2, 3, costs);
  problem.addPair(2, 3, costs);
  problem.addPair(0, 2, {{4, 0}, {}, {}, {}, {5, 0}, {9, 0}});
  problem.addPair(1, 3, std::vector<Cost>(24, {1, 0}));
  EXPECT_EQ(problem.tables.size(), 3u);
  Cost best = bruteForce(problem);
  EXPECT_EQ(solve(problem).cost, best);
  EXPECT_EQ(solve(problem, nothingEasy()).cost, best);
}

TEST(DualAscent, BoundsEveryAssignment) {
  unsigned tight = 0, feasible = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    detail::PrunedProblem pruned = detail::prune(Random(seed).problem(7));
    if (pruned.infeasible || pruned.core.states.empty())
      continue;
    const AssignmentProblem &core = pruned.core;
    ASSERT_TRUE(detail::DualAscent::isExact(core));
    detail::DualAscent ascent(core,
                              detail::eliminationOrder(core, {}).variables);
    detail::WideCost before = 0;
    for (unsigned i = 0; i < 20; ++i) {
      ascent.ascend();
      ASSERT_GE(ascent.bound(), before);
      before = ascent.bound();
    }
    Cost best = Cost::infinite();
    forEachAssignment(core, [&](const std::vector<unsigned> &assignment) {
      Cost cost = core.costOf(assignment);
      if (cost.isInfinite())
        return;
      best = std::min(best, cost);
      detail::WideCost wide = detail::widened(cost);
      for (unsigned v = 0; v < assignment.size(); ++v)
        ASSERT_LE(ascent.boundOf(v, assignment[v]), wide) << "seed " << seed;
    });
    if (best.isInfinite())
      continue;
    ++feasible;
    ASSERT_LE(ascent.bound(), detail::widened(best)) << "seed " << seed;
    ASSERT_FALSE(ascent.isInfeasible());
    Cost bound = detail::narrowed(ascent.bound());
    ASSERT_LE(bound, best) << "seed " << seed;
    tight += bound == best;
  }
  // Most of these graphs are nearly trees.
  EXPECT_GT(feasible, 500u);
  EXPECT_GT(tight * 2, feasible);
}

TEST(DualAscent, FindsTheCostOfAChain) {
  Random random(3);
  for (unsigned length : {2, 10, 300}) {
    AssignmentProblem problem;
    for (unsigned v = 0; v < length; ++v)
      problem.addVariable({random.cost(0), random.cost(0), random.cost(0)});
    for (unsigned v = 1; v < length; ++v) {
      std::vector<Cost> costs(9);
      for (Cost &cost : costs)
        cost = random.cost(0);
      problem.addPair(v - 1, v, std::move(costs));
    }
    std::vector<unsigned> order(length);
    std::iota(order.begin(), order.end(), 0);
    detail::DualAscent ascent(problem, order);
    ascent.ascend();
    EXPECT_EQ(ascent.bound(), detail::widened(solve(problem).cost));
  }
}

TEST(Assignment, WithBoundsEqualsBruteForce) {
  unsigned proved = 0, bounded = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    AssignmentProblem problem = Random(seed).problem(7);
    Cost best = bruteForce(problem);
    AssignmentResult result = detail::solveByBounds(problem, nothingEasy());
    ASSERT_EQ(result.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ASSERT_EQ(result.outcome, Outcome::Optimal);
    ASSERT_EQ(result.cost, best) << "seed " << seed;
    ASSERT_EQ(problem.costOf(result.assignment), best) << "seed " << seed;

    // Without room for any table the result is bounded from both sides.
    AssignmentLimits limits = nothingEasy();
    limits.bytes = 0;
    result = detail::solveByBounds(problem, limits);
    if (result.outcome == Outcome::TooLarge)
      continue;
    ASSERT_TRUE(result.hasAssignment());
    ASSERT_EQ(problem.costOf(result.assignment), result.cost);
    ASSERT_GE(result.cost, best);
    ASSERT_LE(result.bound, best);
    ++(result.outcome == Outcome::Optimal ? proved : bounded);
    if (result.outcome == Outcome::Optimal)
      ASSERT_EQ(result.cost, best) << "seed " << seed;
  }
  EXPECT_GT(proved, 100u);
  EXPECT_GT(bounded, 5u);
}

// A grid: the tables are as large as its width says, but not those that are
// left where a few variables are fixed.
TEST(Assignment, ComesCloseWhereTablesAreTooLarge) {
  AssignmentLimits small{1 << 12, 1 << 12, 1 << 12, 1 << 12};
  constexpr unsigned width = 8, numStates = 3, numProblems = 20;
  unsigned best = 0;
  for (unsigned seed = 0; seed < numProblems; ++seed) {
    Random random(seed);
    AssignmentProblem problem;
    auto costs = [&](size_t count) {
      std::vector<Cost> costs(count);
      for (Cost &cost : costs)
        cost = {random.below(100), 0};
      return costs;
    };
    for (unsigned v = 0; v < width * width; ++v)
      problem.addVariable(costs(numStates), v);
    for (unsigned v = 0; v < width * width; ++v) {
      if (v % width != 0)
        problem.addPair(v - 1, v, costs(numStates * numStates));
      if (v >= width)
        problem.addPair(v - width, v, costs(numStates * numStates));
    }
    AssignmentResult exact = solve(problem), found = solve(problem, small);
    ASSERT_EQ(exact.outcome, Outcome::Optimal);
    ASSERT_TRUE(found.hasAssignment());
    ASSERT_EQ(problem.costOf(found.assignment), found.cost);
    ASSERT_GE(found.cost, exact.cost);
    ASSERT_LE(found.bound, exact.cost);
    best += found.cost == exact.cost;
  }
  EXPECT_GE(best, 18u);
}

// Many variables, all related: no elimination order helps.
TEST(Assignment, SaysHowFarFromTheBestItMayBe) {
  Random random(1);
  AssignmentProblem problem;
  for (unsigned v = 0; v < 40; ++v)
    problem.addVariable(std::vector<Cost>(3), v);
  for (unsigned a = 0; a < 40; ++a)
    for (unsigned b = a + 1; b < 40; ++b) {
      std::vector<Cost> costs(9);
      for (Cost &cost : costs)
        cost = {random.below(1000), 0};
      problem.addPair(a, b, std::move(costs));
    }
  AssignmentResult result = solve(problem);
  EXPECT_EQ(result.outcome, Outcome::Feasible);
  EXPECT_EQ(problem.costOf(result.assignment), result.cost);
  EXPECT_LT(result.bound, result.cost);
  EXPECT_GT(result.bound, Cost());
}

TEST(Assignment, NamesAVariableWithoutStates) {
  AssignmentProblem problem;
  problem.addVariable({Cost()});
  problem.addVariable({Cost::infinite(), Cost::infinite()});
  AssignmentResult result = solve(problem);
  EXPECT_EQ(result.outcome, Outcome::Infeasible);
  EXPECT_EQ(result.variable, 1u);
}

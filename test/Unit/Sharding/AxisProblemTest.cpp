//===- AxisProblemTest.cpp - layouts of a program on one axis -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/AxisProblem.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <map>
#include <random>

using namespace tp;
using Outcome = AssignmentResult::Outcome;

namespace {
const AxisState R = AxisState::replicate();
const AxisState S0 = AxisState::shard(0), S1 = AxisState::shard(1);
const AxisState P = AxisState::partial();
const AxisState Pending = AxisState::pendingPartial();

/// The cheapest cost of serving `needs`, written down once more from the
/// definition: over all sets of states that may be there, each reached from
/// one that is there.
Cost serve(const AxisState &made, const std::vector<Requirement> &needs,
           const AxisValue &value, const AxisCosts &costs) {
  const std::vector<AxisState> states = {R, S0, S1};
  auto holding = [&](const AxisState &state) {
    double bytes = 1.0 * value.bytes;
    if (state.placement.isShard())
      bytes /= 1.0 * costs.ranks;
    return Cost{saturatingRound(bytes * value.bytePrice), 0};
  };
  std::map<unsigned, Cost> reach = {{0u, holding(made)}};
  auto stateOf = [&](unsigned i) { return i == 3 ? made : states[i]; };
  for (unsigned round = 0; round < 3; ++round)
    for (auto [set, cost] : std::map<unsigned, Cost>(reach))
      for (unsigned target = 0; target < 3; ++target) {
        if (set & (1u << target))
          continue;
        for (unsigned from = 0; from < 4; ++from) {
          if (from < 3 && !(set & (1u << from)))
            continue;
          // Slicing is charged to the uses, not to the set.
          Conversion step =
              directConversion(stateOf(from), states[target], value, costs);
          if (!step.possible || !step.collective)
            continue;
          Cost sum = cost + step.cost + holding(states[target]);
          auto at = reach.try_emplace(set | (1u << target), sum).first;
          at->second = std::min(at->second, sum);
        }
      }
  Cost best = Cost::infinite();
  for (auto [set, cost] : reach) {
    Cost sum = cost;
    for (const Requirement &need : needs) {
      Cost use = Cost::infinite();
      auto from = [&](const AxisState &state, bool isMade) {
        bool wantsPartial = need.state.placement.isPartial();
        if (!isMade && made.pending && !(state == R && need.state == R))
          return;
        if (!isMade && !need.mayCommunicate && !made.pending)
          return;
        if (state == need.state || (need.state == Pending && state == P))
          use = Cost();
        else if (state == R && !wantsPartial &&
                 !value.isShardedByMinor(need.state.placement))
          use = std::min(use, costs.localCopy(1.0 * value.bytes / costs.ranks));
        else if (state == R && wantsPartial)
          use = std::min(use, costs.localCopy(value.bytes));
      };
      from(made, true);
      for (unsigned i = 0; i < 3; ++i)
        if (set & (1u << i))
          from(states[i], false);
      sum += use;
    }
    best = std::min(best, sum);
  }
  return best;
}

Cost bruteForce(const AxisProblem &problem) {
  std::vector<unsigned> choices(problem.ops.size(), 0);
  Cost best = Cost::infinite();
  while (true) {
    Cost sum;
    std::vector<AxisState> made(problem.values.size());
    std::vector<std::vector<Requirement>> needs(problem.values.size());
    for (size_t i = 0; i < choices.size(); ++i) {
      const AxisOp &op = problem.ops[i];
      const OpChoice &choice = op.choices[choices[i]];
      sum += choice.cost;
      for (size_t r = 0; r < op.results.size(); ++r)
        made[op.results[r]] = choice.makes[r];
      for (size_t s = 0; s < op.slots.size(); ++s)
        needs[op.slots[s]].push_back(choice.needs[s]);
    }
    for (const TiedOps &both : problem.tied)
      if (!(made[problem.ops[both.first].results[0]].placement ==
            made[problem.ops[both.second].results[0]].placement))
        sum += Cost::infinite();
    for (size_t v = 0; v < made.size(); ++v)
      if (!needs[v].empty())
        sum += serve(made[v], needs[v], problem.values[v], problem.costs);
    best = std::min(best, sum);
    size_t i = 0;
    while (i < choices.size() && ++choices[i] == problem.ops[i].choices.size())
      choices[i++] = 0;
    if (i == choices.size())
      return best;
  }
}

AxisProblem randomProblem(unsigned seed) {
  std::mt19937 engine(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(engine() % n); };
  const std::vector<AxisState> made = {R, S0, S1, P, Pending};
  AxisProblem problem;
  problem.costs.ranks = 2 + below(3);
  problem.costs.objective =
      below(4) ? Objective::Communication : Objective::Time;
  bool pins = below(3) == 0;
  unsigned ops = 2 + below(5);
  for (unsigned i = 0; i < ops; ++i) {
    AxisOp op;
    op.key = engine();
    for (unsigned s = 0, e = i ? below(3) : 0; s < e && !problem.values.empty();
         ++s)
      op.slots.push_back(below(problem.values.size()));
    for (unsigned r = 0, e = 1 + (below(5) == 0); r < e; ++r) {
      op.results.push_back(problem.values.size());
      problem.values.push_back(
          {static_cast<int64_t>(100 * (1 + below(2000))), 1});
    }
    for (unsigned c = 0, e = 1 + below(3); c < e; ++c) {
      OpChoice choice;
      choice.cost = problem.costs.compute(below(3) * 1000.0, 0);
      for (size_t s = 0; s < op.slots.size(); ++s)
        choice.needs.push_back(
            {made[below(made.size())], !pins || below(3) == 0});
      for (size_t r = 0; r < op.results.size(); ++r)
        choice.makes.push_back(made[below(made.size())]);
      op.choices.push_back(std::move(choice));
    }
    problem.ops.push_back(std::move(op));
  }
  return problem;
}

/// Gives a program something that costs depend on.
using Change = std::function<void(AxisProblem &, unsigned seed)>;

void forbidLayouts(AxisProblem &problem, unsigned seed) {
  const AxisState states[] = {R, S0, S1};
  problem.values[seed % problem.values.size()].forbidden =
      states[seed % 3].placement;
}

void priceBytes(AxisProblem &problem, unsigned seed) {
  for (size_t v = 0; v < problem.values.size(); ++v)
    problem.values[v].bytePrice = 0.25 * ((seed + 3 * v) % 8);
}

void shardByMinor(AxisProblem &problem, unsigned seed) {
  for (size_t v = 0; v < problem.values.size(); ++v)
    if ((seed + v) % 2)
      problem.values[v].shardedByMinor = {static_cast<int64_t>(seed / 2 % 2)};
}

void chargeGathers(AxisProblem &problem, unsigned) {
  for (AxisValue &value : problem.values)
    value.gatherPenalty = int64_t(1) << 42;
}

Change reducedElsewhere(int64_t ranks, CollectiveKind kind) {
  return [=](AxisProblem &problem, unsigned) {
    for (AxisValue &value : problem.values) {
      value.reducedOver = ranks;
      value.reducedBy = kind;
    }
  };
}

Change allShardedByMinor(int64_t dim) {
  return [=](AxisProblem &problem, unsigned) {
    for (AxisValue &value : problem.values)
      value.shardedByMinor = {dim};
  };
}

void useAsWeights(AxisProblem &problem, unsigned) {
  for (AxisValue &value : problem.values)
    value.collectiveFactor = 1000;
}

struct Compared {
  /// Programs with an assignment; those that the change made dearer; those that
  /// it made choose otherwise.
  unsigned feasible = 0, dearer = 0, otherChoices = 0;
};

/// Solves `seeds` random programs after `change`, and compares each with what
/// costs least of all.
Compared compareWithBruteForce(unsigned seeds, const Change &change) {
  Compared compared;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    AxisProblem problem = randomProblem(seed);
    AxisProblem unchanged = problem;
    change(problem, seed);
    Cost best = bruteForce(problem);
    AxisSolution solution = solve(problem);
    EXPECT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++compared.feasible;
    AxisSolution before = solve(unchanged);
    compared.dearer += before.cost < best;
    compared.otherChoices += before.choices != solution.choices;
    EXPECT_EQ(solution.cost, best) << "seed " << seed;
    EXPECT_EQ(problem.costOf(solution.choices), best) << "seed " << seed;
    if (::testing::Test::HasFailure())
      break;
  }
  return compared;
}

/// One program of two that have nothing to do with each other.
AxisProblem sideBySide(AxisProblem problem, const AxisProblem &other) {
  unsigned offset = problem.values.size();
  for (AxisOp op : other.ops) {
    for (unsigned &value : op.slots)
      value += offset;
    for (unsigned &value : op.results)
      value += offset;
    problem.ops.push_back(std::move(op));
  }
  problem.values.insert(problem.values.end(), other.values.begin(),
                        other.values.end());
  return problem;
}
} // namespace

TEST(AxisProblem, EqualsBruteForce) {
  Compared compared =
      compareWithBruteForce(8000, [](AxisProblem &, unsigned) {});
  EXPECT_GT(compared.feasible, 1000u);
  EXPECT_LT(compared.feasible, 7500u);
}

TEST(AxisProblem, EqualsBruteForceWhereLayoutsAreForbidden) {
  Compared compared = compareWithBruteForce(4000, forbidLayouts);
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.dearer, 20u);
  for (unsigned seed = 0; seed < 4000; ++seed) {
    AxisProblem problem = randomProblem(seed);
    forbidLayouts(problem, seed);
    AxisSolution solution = solve(problem);
    if (!solution.hasAssignment())
      continue;
    for (const PlannedCollective &made : collectivesOf(problem, solution))
      ASSERT_FALSE(problem.values[made.value].forbidden == made.to.placement)
          << "seed " << seed;
  }
}

TEST(AxisProblem, EqualsBruteForceAfterChanges) {
  Change tieFirstToLast = [](AxisProblem &problem, unsigned) {
    problem.tied.push_back({0, static_cast<unsigned>(problem.ops.size()) - 1});
  };
  struct {
    const char *what;
    Change change;
    /// More programs than these become dearer, or choose otherwise.
    unsigned dearer, otherChoices;
  } const cases[] = {{"bytes have a price", priceBytes, 500, 0},
                     {"a minor axis shards", shardByMinor, 100, 0},
                     {"ops are alike", tieFirstToLast, 20, 0},
                     {"gathers are charged", chargeGathers, 0, 20}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.what);
    Compared compared = compareWithBruteForce(4000, one.change);
    EXPECT_GT(compared.feasible, 500u);
    if (one.dearer)
      EXPECT_GT(compared.dearer, one.dearer);
    if (one.otherChoices)
      EXPECT_GT(compared.otherChoices, one.otherChoices);
  }
}

TEST(AxisProblem, EqualsBruteForceWhereAnotherAxisReducesToo) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}) {
    Compared compared = compareWithBruteForce(2000, reducedElsewhere(4, kind));
    EXPECT_GT(compared.feasible, 500u);
    EXPECT_GT(compared.otherChoices, 5u);
  }
}

/// Values that are alike are looked at once: those that differ in anything that
/// costs depend on are not.
TEST(AxisProblem, WhatDiffersIsNotTakenForAlike) {
  Change nothing = [](AxisProblem &, unsigned) {};
  Change by2 = reducedElsewhere(2, CollectiveKind::AllReduce);
  const std::pair<Change, Change> different[] = {
      {nothing, forbidLayouts},
      {nothing, priceBytes},
      {nothing, useAsWeights},
      {nothing, chargeGathers},
      {nothing, by2},
      {by2, reducedElsewhere(4, CollectiveKind::AllReduce)},
      {by2, reducedElsewhere(2, CollectiveKind::ReduceScatter)},
      {nothing, allShardedByMinor(0)},
      {allShardedByMinor(0), allShardedByMinor(1)}};
  for (const auto &[change, otherChange] : different) {
    unsigned differ = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      AxisProblem one = randomProblem(seed), other = one;
      change(one, seed);
      otherChange(other, seed);
      Cost first = bruteForce(one), second = bruteForce(other);
      if (first.isInfinite() || second.isInfinite())
        continue;
      differ += !(first == second);
      ASSERT_EQ(solve(sideBySide(one, other)).cost, first + second)
          << "seed " << seed;
    }
    EXPECT_GT(differ, 5u);
  }
}

TEST(AxisProblem, CollectivesOfASolution) {
  AxisProblem problem;
  problem.costs.ranks = 4;
  problem.values.resize(1);
  problem.values[0].bytes = 4000;
  problem.ops.resize(3);
  problem.ops[0].results = {0};
  problem.ops[0].choices = {{{}, {}, {P}}};
  for (unsigned user : {1u, 2u}) {
    problem.ops[user].slots = {0};
    problem.ops[user].choices = {{{}, {{user == 1 ? S0 : S1}}, {}}};
  }
  // A reduce_scatter, and from it an all_to_all.
  std::vector<PlannedCollective> made = collectivesOf(problem, solve(problem));
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(made[0].from, P);
  EXPECT_EQ(made[1].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(made[1].from, made[0].to);
}

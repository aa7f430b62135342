//===- LayoutProgramTest.cpp - layouts of a program on one axis ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/LayoutProgram.h"
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
Cost serve(const AxisState &made, const std::vector<Need> &needs,
           const ProgramValue &value, const AxisCosts &costs) {
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
          Step step = directStep(stateOf(from), states[target], value, costs);
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
    for (const Need &need : needs) {
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

Cost bruteForce(const LayoutProgram &program) {
  std::vector<unsigned> choices(program.ops.size(), 0);
  Cost best = Cost::infinite();
  while (true) {
    Cost sum;
    std::vector<AxisState> made(program.values.size());
    std::vector<std::vector<Need>> needs(program.values.size());
    for (size_t i = 0; i < choices.size(); ++i) {
      const ProgramOp &op = program.ops[i];
      const OpChoice &choice = op.choices[choices[i]];
      sum += choice.cost;
      for (size_t r = 0; r < op.results.size(); ++r)
        made[op.results[r]] = choice.makes[r];
      for (size_t s = 0; s < op.slots.size(); ++s)
        needs[op.slots[s]].push_back(choice.needs[s]);
    }
    for (const AlikeOps &both : program.alike)
      if (!(made[program.ops[both.first].results[0]].placement ==
            made[program.ops[both.second].results[0]].placement))
        sum += Cost::infinite();
    for (size_t v = 0; v < made.size(); ++v)
      if (!needs[v].empty())
        sum += serve(made[v], needs[v], program.values[v], program.costs);
    best = std::min(best, sum);
    size_t i = 0;
    while (i < choices.size() && ++choices[i] == program.ops[i].choices.size())
      choices[i++] = 0;
    if (i == choices.size())
      return best;
  }
}

LayoutProgram randomProgram(unsigned seed) {
  std::mt19937 engine(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(engine() % n); };
  const std::vector<AxisState> made = {R, S0, S1, P, Pending};
  LayoutProgram program;
  program.costs.ranks = 2 + below(3);
  program.costs.objective =
      below(4) ? Objective::Communication : Objective::Time;
  bool pins = below(3) == 0;
  unsigned ops = 2 + below(5);
  for (unsigned i = 0; i < ops; ++i) {
    ProgramOp op;
    op.key = engine();
    for (unsigned s = 0, e = i ? below(3) : 0; s < e && !program.values.empty();
         ++s)
      op.slots.push_back(below(program.values.size()));
    for (unsigned r = 0, e = 1 + (below(5) == 0); r < e; ++r) {
      op.results.push_back(program.values.size());
      program.values.push_back(
          {static_cast<int64_t>(100 * (1 + below(2000))), 1});
    }
    for (unsigned c = 0, e = 1 + below(3); c < e; ++c) {
      OpChoice choice;
      choice.cost = program.costs.compute(below(3) * 1000.0, 0);
      for (size_t s = 0; s < op.slots.size(); ++s)
        choice.needs.push_back(
            {made[below(made.size())], !pins || below(3) == 0});
      for (size_t r = 0; r < op.results.size(); ++r)
        choice.makes.push_back(made[below(made.size())]);
      op.choices.push_back(std::move(choice));
    }
    program.ops.push_back(std::move(op));
  }
  return program;
}

/// Gives a program something that costs depend on.
using Change = std::function<void(LayoutProgram &, unsigned seed)>;

void forbidLayouts(LayoutProgram &program, unsigned seed) {
  const AxisState states[] = {R, S0, S1};
  program.values[seed % program.values.size()].forbidden =
      states[seed % 3].placement;
}

void priceBytes(LayoutProgram &program, unsigned seed) {
  for (size_t v = 0; v < program.values.size(); ++v)
    program.values[v].bytePrice = 0.25 * ((seed + 3 * v) % 8);
}

void shardByMinor(LayoutProgram &program, unsigned seed) {
  for (size_t v = 0; v < program.values.size(); ++v)
    if ((seed + v) % 2)
      program.values[v].shardedByMinor = {static_cast<int64_t>(seed / 2 % 2)};
}

void chargeGathers(LayoutProgram &program, unsigned) {
  for (ProgramValue &value : program.values)
    value.gatherCharge = int64_t(1) << 42;
}

Change reducedElsewhere(int64_t ranks, CollectiveKind kind) {
  return [=](LayoutProgram &program, unsigned) {
    for (ProgramValue &value : program.values) {
      value.reducedOver = ranks;
      value.reducedBy = kind;
    }
  };
}

Change allShardedByMinor(int64_t dim) {
  return [=](LayoutProgram &program, unsigned) {
    for (ProgramValue &value : program.values)
      value.shardedByMinor = {dim};
  };
}

void useAsWeights(LayoutProgram &program, unsigned) {
  for (ProgramValue &value : program.values)
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
    LayoutProgram program = randomProgram(seed);
    LayoutProgram unchanged = program;
    change(program, seed);
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    EXPECT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++compared.feasible;
    ProgramSolution before = solve(unchanged);
    compared.dearer += before.cost < best;
    compared.otherChoices += before.choices != solution.choices;
    EXPECT_EQ(solution.cost, best) << "seed " << seed;
    EXPECT_EQ(program.costOf(solution.choices), best) << "seed " << seed;
    if (::testing::Test::HasFailure())
      break;
  }
  return compared;
}

/// One program of two that have nothing to do with each other.
LayoutProgram sideBySide(LayoutProgram program, const LayoutProgram &other) {
  unsigned offset = program.values.size();
  for (ProgramOp op : other.ops) {
    for (unsigned &value : op.slots)
      value += offset;
    for (unsigned &value : op.results)
      value += offset;
    program.ops.push_back(std::move(op));
  }
  program.values.insert(program.values.end(), other.values.begin(),
                        other.values.end());
  return program;
}
} // namespace

TEST(LayoutProgram, EqualsBruteForce) {
  Compared compared =
      compareWithBruteForce(8000, [](LayoutProgram &, unsigned) {});
  EXPECT_GT(compared.feasible, 1000u);
  EXPECT_LT(compared.feasible, 7500u);
}

TEST(LayoutProgram, EqualsBruteForceWhereLayoutsAreForbidden) {
  Compared compared = compareWithBruteForce(4000, forbidLayouts);
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.dearer, 20u);
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    forbidLayouts(program, seed);
    ProgramSolution solution = solve(program);
    if (!solution.hasAssignment())
      continue;
    for (const MadeCollective &made : collectivesOf(program, solution))
      ASSERT_FALSE(program.values[made.value].forbidden == made.to.placement)
          << "seed " << seed;
  }
}

TEST(LayoutProgram, EqualsBruteForceWhereBytesHaveAPrice) {
  Compared compared = compareWithBruteForce(4000, priceBytes);
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.dearer, 500u);
}

TEST(LayoutProgram, EqualsBruteForceWhereAMinorAxisShards) {
  Compared compared = compareWithBruteForce(4000, shardByMinor);
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.dearer, 100u);
}

TEST(LayoutProgram, EqualsBruteForceWhereOpsAreAlike) {
  Compared compared = compareWithBruteForce(4000, [](LayoutProgram &program,
                                                     unsigned) {
    program.alike.push_back({0, static_cast<unsigned>(program.ops.size()) - 1});
  });
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.dearer, 20u);
}

TEST(LayoutProgram, EqualsBruteForceWhereGathersAreCharged) {
  Compared compared = compareWithBruteForce(4000, chargeGathers);
  EXPECT_GT(compared.feasible, 500u);
  EXPECT_GT(compared.otherChoices, 20u);
}

TEST(LayoutProgram, EqualsBruteForceWhereAnotherAxisReducesToo) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}) {
    Compared compared = compareWithBruteForce(2000, reducedElsewhere(4, kind));
    EXPECT_GT(compared.feasible, 500u);
    EXPECT_GT(compared.otherChoices, 5u);
  }
}

/// Values that are alike are looked at once: those that differ in anything that
/// costs depend on are not.
TEST(LayoutProgram, WhatDiffersIsNotTakenForAlike) {
  Change nothing = [](LayoutProgram &, unsigned) {};
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
      LayoutProgram one = randomProgram(seed), other = one;
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

TEST(LayoutProgram, CollectivesOfASolution) {
  LayoutProgram program;
  program.costs.ranks = 4;
  program.values = {{4000, 1, {}}};
  program.ops.resize(3);
  program.ops[0].results = {0};
  program.ops[0].choices = {{{}, {}, {P}}};
  for (unsigned user : {1u, 2u}) {
    program.ops[user].slots = {0};
    program.ops[user].choices = {{{}, {{user == 1 ? S0 : S1}}, {}}};
  }
  // A reduce_scatter, and from it an all_to_all.
  std::vector<MadeCollective> made = collectivesOf(program, solve(program));
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(made[0].from, P);
  EXPECT_EQ(made[1].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(made[1].from, made[0].to);
}

//===- LayoutProgramTest.cpp - layouts of a program on one axis ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/LayoutProgram.h"
#include "tp/Support/RedistributionPath.h"
#include "gtest/gtest.h"
#include <algorithm>
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

AxisCosts fourRanks() {
  AxisCosts costs;
  costs.ranks = 4;
  return costs;
}
} // namespace

TEST(LayoutProgram, EqualsBruteForce) {
  unsigned feasible = 0;
  for (unsigned seed = 0; seed < 8000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    ASSERT_EQ(program.costOf(solution.choices), best) << "seed " << seed;
  }
  EXPECT_GT(feasible, 1000u);
  EXPECT_LT(feasible, 7500u);
}

TEST(LayoutProgram, EqualsBruteForceWhereLayoutsAreForbidden) {
  const std::vector<AxisState> states = {R, S0, S1};
  unsigned feasible = 0, dearer = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    Cost freely = bruteForce(program);
    program.values[seed % program.values.size()].forbidden =
        states[seed % 3].placement;
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    dearer += freely < best;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    for (const MadeCollective &made : collectivesOf(program, solution))
      ASSERT_FALSE(program.values[made.value].forbidden == made.to.placement)
          << "seed " << seed;
  }
  EXPECT_GT(feasible, 500u);
  EXPECT_GT(dearer, 20u);
}

TEST(LayoutProgram, EqualsBruteForceWhereBytesHaveAPrice) {
  unsigned feasible = 0, dearer = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    Cost freely = bruteForce(program);
    for (size_t v = 0; v < program.values.size(); ++v)
      program.values[v].bytePrice = 0.25 * ((seed + 3 * v) % 8);
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    dearer += freely < best;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    ASSERT_EQ(program.costOf(solution.choices), best) << "seed " << seed;
  }
  EXPECT_GT(feasible, 500u);
  EXPECT_GT(dearer, 500u);
}

TEST(LayoutProgram, EqualsBruteForceWhereAMinorAxisShards) {
  unsigned feasible = 0, dearer = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    Cost alone = bruteForce(program);
    for (size_t v = 0; v < program.values.size(); ++v)
      if ((seed + v) % 2)
        program.values[v].shardedByMinor = {static_cast<int64_t>(seed / 2 % 2)};
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    dearer += alone < best;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    ASSERT_EQ(program.costOf(solution.choices), best) << "seed " << seed;
  }
  EXPECT_GT(feasible, 500u);
  EXPECT_GT(dearer, 100u);
}

TEST(LayoutProgram, EqualsBruteForceWhereOpsAreAlike) {
  unsigned feasible = 0, dearer = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    Cost freely = bruteForce(program);
    program.alike.push_back({0, static_cast<unsigned>(program.ops.size()) - 1});
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ++feasible;
    dearer += freely < best;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    ASSERT_EQ(program.costOf(solution.choices), best) << "seed " << seed;
  }
  EXPECT_GT(feasible, 500u);
  EXPECT_GT(dearer, 20u);
}

TEST(LayoutProgram, EqualsBruteForceWhereGathersAreCharged) {
  unsigned other = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    LayoutProgram program = randomProgram(seed);
    std::vector<unsigned> freely = solve(program).choices;
    for (ProgramValue &value : program.values) {
      value.gatherCharge = int64_t(1) << 42;
      if (seed % 2) {
        value.reducedOver = 1 + seed % 4;
        value.reducedBy = seed % 3 ? CollectiveKind::AllReduce
                                   : CollectiveKind::ReduceScatter;
      }
    }
    Cost best = bruteForce(program);
    ProgramSolution solution = solve(program);
    ASSERT_EQ(solution.outcome == Outcome::Infeasible, best.isInfinite())
        << "seed " << seed;
    if (best.isInfinite())
      continue;
    ASSERT_EQ(solution.cost, best) << "seed " << seed;
    other += solution.choices != freely;
  }
  EXPECT_GT(other, 20u);
}

TEST(LayoutProgram, WhatIsReducedOnAnotherAxisTooIsOneCollective) {
  AxisCosts costs = fourRanks();
  ProgramValue alone, joined;
  alone.bytes = joined.bytes = 8000;
  joined.reducedOver = 2;
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}) {
    // Over 2 and then 4 ranks together as over 8.
    AxisCosts over2 = costs, over8 = costs;
    over2.ranks = 2;
    over8.ranks = 8;
    joined.reducedBy = kind;
    EXPECT_EQ(over2.collective(kind, alone).primary +
                  costs.collective(kind, joined).primary,
              over8.collective(kind, alone).primary);
    // One of another kind is one more.
    joined.reducedBy = kind == CollectiveKind::AllReduce
                           ? CollectiveKind::ReduceScatter
                           : CollectiveKind::AllReduce;
    EXPECT_LT(over8.collective(kind, alone).primary,
              over2.collective(kind, alone).primary +
                  costs.collective(kind, joined).primary);
  }
  EXPECT_EQ(costs.collective(CollectiveKind::AllGather, alone).primary,
            costs.collective(CollectiveKind::AllGather, joined).primary);
}

TEST(LayoutProgram, CollectivesOfASolution) {
  LayoutProgram program;
  program.costs = fourRanks();
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

TEST(LayoutProgram, Steps) {
  AxisCosts costs = fourRanks();
  ProgramValue value = {4000, 1};
  auto collective = [&](const AxisState &from, const AxisState &to) {
    Step step = directStep(from, to, value, costs);
    EXPECT_TRUE(step.possible);
    return step.collective ? toString(*step.collective).str() : "none";
  };
  EXPECT_EQ(collective(R, S0), "none");
  EXPECT_EQ(collective(R, P), "none");
  EXPECT_EQ(collective(S0, R), "all_gather");
  EXPECT_EQ(collective(S0, S1), "all_to_all");
  AxisState packed = {Placement::shard(0, 1, {8, 4, 4})};
  EXPECT_EQ(collective(S1, packed), "all_to_all");
  EXPECT_EQ(collective(packed, S1), "all_to_all");
  EXPECT_EQ(collective(P, R), "all_reduce");
  EXPECT_EQ(collective(P, S1), "reduce_scatter");
  EXPECT_EQ(collective(Pending, R), "all_reduce");
  EXPECT_FALSE(directStep(Pending, S0, value, costs).possible);
  EXPECT_FALSE(directStep(Pending, P, value, costs).possible);
  EXPECT_FALSE(directStep(S0, P, value, costs).possible);
  EXPECT_FALSE(
      directStep(AxisState::partial(ReductionKind::Max), P, value, costs)
          .possible);
  // The first rank keeps a sum and the others write zeros; of a maximum all
  // keep what they have.
  EXPECT_LT(Cost(), directStep(R, P, value, costs).cost);
  for (ReductionKind kind :
       {ReductionKind::Avg, ReductionKind::Max, ReductionKind::Min})
    EXPECT_EQ(Cost(),
              directStep(R, AxisState::partial(kind), value, costs).cost);
}

TEST(LayoutProgram, ShardsInOtherChunksGoThroughTheWholeValue) {
  AxisCosts costs = fourRanks();
  ProgramValue value = {4000, 1};
  AxisState heads = {Placement::shard(0, /*unit=*/16)};
  EXPECT_FALSE(directStep(S0, heads, value, costs).possible);
  EXPECT_TRUE(costOfExtras({S0, {heads}}, value, costs).isInfinite());
  EXPECT_EQ(costOfExtras({S0, {R}}, value, costs),
            costs.collective(CollectiveKind::AllGather, value));
  EXPECT_EQ(costOfUse({S0, {R}}, {heads}, value, costs).primary, 0);
}

/// On one axis that splits evenly the assignment charges what then is done,
/// and more only for shards of one dimension in other chunks.
TEST(LayoutProgram, ChargesWhatTheCheapestWayCosts) {
  AxisCosts costs = fourRanks();
  Mesh mesh;
  mesh.axes.push_back({"a", 4});
  std::vector<int64_t> shape = {48, 64};
  constexpr int64_t elementBytes = 4;
  ProgramValue value = {48 * 64 * elementBytes, 1};
  std::vector<AxisState> states = {R,
                                   S0,
                                   S1,
                                   P,
                                   AxisState::partial(ReductionKind::Max),
                                   {Placement::shard(0, 1, {24, 24})},
                                   {Placement::shard(0, 1, {32, 8, 8})}};
  unsigned cheaper = 0;
  for (const AxisState &from : states)
    for (const AxisState &to : states) {
      auto lying = [&](const AxisState &state) {
        return Layout::onWholeAxes(mesh, {state.placement});
      };
      Step direct = directStep(from, to, value, costs);
      Cost charged = direct.possible ? direct.cost
                                     : directStep(from, R, value, costs).cost +
                                           directStep(R, to, value, costs).cost;
      Cost done = pathCost(shape, elementBytes, lying(from),
                           redistributionPath(mesh, shape, elementBytes,
                                              lying(from), lying(to)));
      EXPECT_LE(done, charged) << toString(from) << " to " << toString(to);
      bool isRechunked = from.placement.isShard() && to.placement.isShard() &&
                         from.placement.dim == to.placement.dim;
      if (!isRechunked)
        EXPECT_EQ(done, charged) << toString(from) << " to " << toString(to);
      cheaper += done < charged;
    }
  // Over the other dimension, where nothing is gathered.
  EXPECT_EQ(cheaper, 6u);
}

/// Where an axis minor to this one shards dimension 0 before and after the
/// change, shards of it over this one end in the wrong order.
TEST(LayoutProgram, ChargesForTheOrderOfShards) {
  AxisCosts costs;
  costs.ranks = 2;
  Mesh mesh;
  mesh.axes = {{"a", 2}, {"b", 2}};
  std::vector<int64_t> shape = {64, 64};
  constexpr int64_t elementBytes = 4;
  ProgramValue value = {64 * 64 * elementBytes / 2, 1};
  value.shardedByMinor = {0};
  auto lying = [&](const AxisState &state) {
    return Layout::onWholeAxes(mesh, {state.placement, S0.placement});
  };
  for (const AxisState &from : {R, S0, S1, P})
    for (const AxisState &to : {R, S0, S1}) {
      Step step = directStep(from, to, value, costs);
      ASSERT_TRUE(step.possible);
      Cost done = pathCost(shape, elementBytes, lying(from),
                           redistributionPath(mesh, shape, elementBytes,
                                              lying(from), lying(to)));
      EXPECT_EQ(step.collective.has_value(), done.primary > 0)
          << toString(from) << " to " << toString(to);
      // One all_to_all over both axes does what is charged as two steps.
      bool isExchange = from.placement.isShard() && to.placement.isShard();
      EXPECT_GE(step.cost.primary, done.primary)
          << toString(from) << " to " << toString(to);
      if (!isExchange || from == to)
        EXPECT_EQ(step.cost.primary, done.primary)
            << toString(from) << " to " << toString(to);
    }
}

TEST(LayoutProgram, PaysOncePerValueAndState) {
  AxisCosts costs = fourRanks();
  ProgramValue value = {4000, 1};
  Supply gathered = {S0, {R}};
  Cost once = costs.collective(CollectiveKind::AllGather, value);
  EXPECT_EQ(costOfExtras(gathered, value, costs), once);
  EXPECT_EQ(costOfUse(gathered, {R}, value, costs), Cost());
  EXPECT_EQ(costOfUse(gathered, {S0}, value, costs), Cost());
  EXPECT_EQ(costOfUse(gathered, {S1}, value, costs).primary, 0);
  // From a partial: scatter once, then move the shards.
  Supply both = {P, {S0, S1}};
  EXPECT_EQ(costOfExtras(both, value, costs),
            costs.collective(CollectiveKind::ReduceScatter, value) +
                costs.collective(CollectiveKind::AllToAll, value));
}

TEST(LayoutProgram, SuppliesNeedNoMoreExtrasThanUses) {
  AxisCosts costs = fourRanks();
  costs.ranks = 64;
  ProgramValue value = {int64_t(1) << 40, 1};
  std::vector<Need> needs;
  for (int64_t dim = 0; dim < 16; ++dim)
    needs.push_back({AxisState::shard(dim)});
  // As made, replicated, and one or two of the other fifteen shards.
  EXPECT_EQ(supplies(S0, needs, 1, value, costs).size(), 2u + 15u);
  EXPECT_EQ(supplies(S0, needs, 2, value, costs).size(), 2u + 15u + 105u);
  // With little to move the latency of a second all_to_all costs more time
  // than the bytes of an all_gather.
  value.bytes = 4;
  costs.objective = Objective::Time;
  EXPECT_EQ(supplies(S0, needs, 2, value, costs).size(), 2u + 15u);
}

TEST(LayoutProgram, SendsTheFewestBytesInTheFewestCollectives) {
  AxisCosts costs = fourRanks();
  auto primary = [&](CollectiveKind kind, int64_t bytes) {
    return costs.collective(kind, {bytes, 1}).primary;
  };
  // Three small reductions take longer than one gather that moves more.
  int64_t reductions = 3 * primary(CollectiveKind::AllReduce, 256);
  int64_t gather = primary(CollectiveKind::AllGather, 65536);
  EXPECT_LT(reductions, gather);
  // Odd sizes too: rounding does not hide the second collective.
  for (int64_t bytes : {1, 2, 3, 5, 1000, 1001, 1002})
    EXPECT_LT(primary(CollectiveKind::AllReduce, bytes),
              primary(CollectiveKind::ReduceScatter, bytes) +
                  primary(CollectiveKind::AllGather, bytes));
  costs.objective = Objective::Time;
  reductions = 3 * primary(CollectiveKind::AllReduce, 256);
  gather = primary(CollectiveKind::AllGather, 65536);
  EXPECT_GT(reductions, gather);
}

TEST(LayoutProgram, APendingPartialIsOnlyReplicated) {
  AxisCosts costs = fourRanks();
  ProgramValue value = {4000, 1};
  Supply reduced = {Pending, {R}};
  EXPECT_EQ(costOfUse(reduced, {R}, value, costs), Cost());
  EXPECT_EQ(costOfUse(reduced, {R, false}, value, costs), Cost());
  EXPECT_EQ(costOfUse(reduced, {Pending}, value, costs), Cost());
  EXPECT_TRUE(costOfUse(reduced, {S0}, value, costs).isInfinite());
  EXPECT_TRUE(costOfUse(reduced, {P}, value, costs).isInfinite());
}

//===- MaterializedLayoutsTest.cpp - bringing a value where it is needed --===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/AxisProblem.h"
#include "tp/Sharding/RedistributionPath.h"
#include "gtest/gtest.h"

using namespace tp;

namespace {
const AxisState R = AxisState::replicate();
const AxisState S0 = AxisState::shard(0), S1 = AxisState::shard(1);
const AxisState P = AxisState::partial();
const AxisState Pending = AxisState::pendingPartial();

AxisCosts fourRanks() {
  AxisCosts costs;
  costs.ranks = 4;
  return costs;
}
} // namespace

TEST(MaterializedLayoutsTest, Steps) {
  AxisCosts costs = fourRanks();
  AxisValue value = {4000, 1};
  auto collective = [&](const AxisState &from, const AxisState &to) {
    Conversion step = directConversion(from, to, value, costs);
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
  EXPECT_FALSE(directConversion(Pending, S0, value, costs).possible);
  EXPECT_FALSE(directConversion(Pending, P, value, costs).possible);
  EXPECT_FALSE(directConversion(S0, P, value, costs).possible);
  EXPECT_FALSE(
      directConversion(AxisState::partial(ReductionKind::Max), P, value, costs)
          .possible);
  // The first rank keeps a sum and the others write zeros; of a maximum all
  // keep what they have.
  EXPECT_LT(Cost(), directConversion(R, P, value, costs).cost);
  for (ReductionKind kind :
       {ReductionKind::Avg, ReductionKind::Max, ReductionKind::Min})
    EXPECT_EQ(Cost(),
              directConversion(R, AxisState::partial(kind), value, costs).cost);
}

TEST(MaterializedLayoutsTest, ShardsInOtherChunksGoThroughTheWholeValue) {
  AxisCosts costs = fourRanks();
  AxisValue value = {4000, 1};
  AxisState heads = {Placement::shard(0, /*unit=*/16)};
  EXPECT_FALSE(directConversion(S0, heads, value, costs).possible);
  EXPECT_TRUE(costOfConversions({S0, {heads}}, value, costs).isInfinite());
  EXPECT_EQ(costOfConversions({S0, {R}}, value, costs),
            costs.collective(CollectiveKind::AllGather, value));
  EXPECT_EQ(costOfUse({S0, {R}}, {heads}, value, costs).primary, 0);
}

/// On one axis that splits evenly the assignment charges what then is done,
/// and more only for shards of one dimension in other chunks.
TEST(MaterializedLayoutsTest, ChargesWhatTheCheapestWayCosts) {
  AxisCosts costs = fourRanks();
  Mesh mesh;
  mesh.axes.push_back({"a", 4});
  std::vector<int64_t> shape = {48, 64};
  constexpr int64_t elementBytes = 4;
  AxisValue value = {48 * 64 * elementBytes, 1};
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
      Conversion direct = directConversion(from, to, value, costs);
      Cost charged = direct.possible
                         ? direct.cost
                         : directConversion(from, R, value, costs).cost +
                               directConversion(R, to, value, costs).cost;
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
TEST(MaterializedLayoutsTest, ChargesForTheOrderOfShards) {
  AxisCosts costs;
  costs.ranks = 2;
  Mesh mesh;
  mesh.axes = {{"a", 2}, {"b", 2}};
  std::vector<int64_t> shape = {64, 64};
  constexpr int64_t elementBytes = 4;
  AxisValue value = {64 * 64 * elementBytes / 2, 1};
  value.shardedByMinor = {0};
  auto lying = [&](const AxisState &state) {
    return Layout::onWholeAxes(mesh, {state.placement, S0.placement});
  };
  for (const AxisState &from : {R, S0, S1, P})
    for (const AxisState &to : {R, S0, S1}) {
      Conversion step = directConversion(from, to, value, costs);
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

TEST(MaterializedLayoutsTest, PaysOncePerValueAndState) {
  AxisCosts costs = fourRanks();
  AxisValue value = {4000, 1};
  MaterializedLayouts gathered = {S0, {R}};
  Cost once = costs.collective(CollectiveKind::AllGather, value);
  EXPECT_EQ(costOfConversions(gathered, value, costs), once);
  EXPECT_EQ(costOfUse(gathered, {R}, value, costs), Cost());
  EXPECT_EQ(costOfUse(gathered, {S0}, value, costs), Cost());
  EXPECT_EQ(costOfUse(gathered, {S1}, value, costs).primary, 0);
  // From a partial: scatter once, then move the shards.
  MaterializedLayouts both = {P, {S0, S1}};
  EXPECT_EQ(costOfConversions(both, value, costs),
            costs.collective(CollectiveKind::ReduceScatter, value) +
                costs.collective(CollectiveKind::AllToAll, value));
}

TEST(MaterializedLayoutsTest, SuppliesNeedNoMoreExtrasThanUses) {
  AxisCosts costs = fourRanks();
  costs.ranks = 64;
  AxisValue value = {int64_t(1) << 40, 1};
  std::vector<Requirement> needs;
  for (int64_t dim = 0; dim < 16; ++dim)
    needs.push_back({AxisState::shard(dim)});
  // As made, replicated, and one or two of the other fifteen shards.
  EXPECT_EQ(materializations(S0, needs, 1, value, costs).size(), 2u + 15u);
  EXPECT_EQ(materializations(S0, needs, 2, value, costs).size(),
            2u + 15u + 105u);
  // With little to move the latency of a second all_to_all costs more time
  // than the bytes of an all_gather.
  value.bytes = 4;
  costs.objective = Objective::Time;
  EXPECT_EQ(materializations(S0, needs, 2, value, costs).size(), 2u + 15u);
}

TEST(MaterializedLayoutsTest, SendsTheFewestBytesInTheFewestCollectives) {
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

TEST(MaterializedLayoutsTest, APendingPartialIsOnlyReplicated) {
  AxisCosts costs = fourRanks();
  AxisValue value = {4000, 1};
  MaterializedLayouts reduced = {Pending, {R}};
  EXPECT_EQ(costOfUse(reduced, {R}, value, costs), Cost());
  EXPECT_EQ(costOfUse(reduced, {R, false}, value, costs), Cost());
  EXPECT_EQ(costOfUse(reduced, {Pending}, value, costs), Cost());
  EXPECT_TRUE(costOfUse(reduced, {S0}, value, costs).isInfinite());
  EXPECT_TRUE(costOfUse(reduced, {P}, value, costs).isInfinite());
}

TEST(MaterializedLayoutsTest, WhatIsReducedOnAnotherAxisTooIsOneCollective) {
  AxisCosts costs = fourRanks();
  AxisValue alone, joined;
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

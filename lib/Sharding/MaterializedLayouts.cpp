//===- MaterializedLayouts.cpp - a value in the layouts its uses need -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/AxisProblem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace tp;

std::string tp::toString(const AxisState &state) {
  return (state.pending ? "pending " : "") + toString(state.placement);
}

Cost AxisCosts::compute(double operations, double bytes,
                        NumberClass numbers) const {
  int64_t time = computeTime(operations, bytes, machine, numbers);
  return objective == Objective::Communication ? Cost{0, time} : Cost{time, 0};
}

Cost AxisCosts::collective(CollectiveKind kind, const AxisValue &value) const {
  int64_t bytes = payloadBytes(kind, value.bytes, ranks);
  bool reduces = kind == CollectiveKind::AllReduce ||
                 kind == CollectiveKind::ReduceScatter;
  Cost cost =
      collective(kind, reduces ? bytes / value.reducedOver : bytes, ranks);
  // A group that grows sends more, but not more often.
  if (value.reducedOver > 1 && kind == value.reducedBy) {
    Cost empty = collective(kind, 0, ranks);
    cost = {cost.primary - empty.primary, cost.secondary - empty.secondary};
  }
  cost.primary = saturatingRound(static_cast<double>(cost.primary) *
                                 static_cast<double>(value.collectiveFactor));
  cost = cost.times(value.calls);
  if (!reduces)
    cost.primary = saturatingAdd(cost.primary, value.gatherPenalty);
  return cost;
}

bool AxisValue::isShardedByMinor(const Placement &placement) const {
  return placement.isShard() &&
         llvm::is_contained(shardedByMinor, placement.dim);
}

Conversion tp::directConversion(const AxisState &from, const AxisState &to,
                                const AxisValue &value,
                                const AxisCosts &costs) {
  if (from == to)
    return {true, std::nullopt, Cost()};
  auto by = [&](CollectiveKind kind) {
    if (value.forbidden && *value.forbidden == to.placement)
      return Conversion();
    Conversion step = {true, kind, costs.collective(kind, value)};
    if (kind != CollectiveKind::Permute)
      for (const AxisState &end : {from, to})
        if (value.isShardedByMinor(end.placement))
          step.cost += costs.collective(CollectiveKind::Permute, value);
    return step;
  };
  const Placement &source = from.placement, &target = to.placement;
  if (from.pending)
    return target.isReplicate() ? by(CollectiveKind::AllReduce) : Conversion();
  if (to.pending)
    return source == target ? Conversion{true, std::nullopt, Cost()}
                            : Conversion();
  double bytes = static_cast<double>(value.bytes);
  switch (source.kind) {
  case PlacementKind::Replicate:
    if (value.isShardedByMinor(target))
      return by(CollectiveKind::Permute);
    if (target.isPartial() && combinesCopies(target.reduction))
      return {true, std::nullopt, Cost()};
    // Slicing touches one part; making a partial touches the whole.
    return {true, std::nullopt,
            costs
                .localCopy(target.isShard()
                               ? bytes / static_cast<double>(costs.ranks)
                               : bytes)
                .times(value.calls)};
  case PlacementKind::Shard:
    if (target.isReplicate())
      return by(CollectiveKind::AllGather);
    if (target.isShard() && source.dim != target.dim)
      return by(CollectiveKind::AllToAll);
    return {};
  case PlacementKind::Partial:
    if (target.isReplicate())
      return by(CollectiveKind::AllReduce);
    if (target.isShard())
      return by(CollectiveKind::ReduceScatter);
    return {};
  }
  return {};
}

namespace {
/// One conversion of a materialization.
struct ConversionStep {
  AxisState from, to;
  Conversion step;
};
using ConversionSteps = llvm::SmallVector<ConversionStep, 2>;
} // namespace

static Cost sumOf(const ConversionSteps &steps) {
  Cost sum;
  for (const ConversionStep &made : steps)
    sum += made.step.cost;
  return sum;
}

/// Makes one of `missing` after the other, each from the state that is there
/// from which it is cheapest: the cheapest of them first, or in their order.
/// Ends with one that is impossible.
static ConversionSteps stepsTo(llvm::SmallVector<AxisState, 4> missing,
                               bool inOrder,
                               const MaterializedLayouts &materialization,
                               const AxisValue &value, const AxisCosts &costs) {
  ConversionSteps steps;
  llvm::SmallVector<AxisState, 4> there = {materialization.made};
  while (!missing.empty()) {
    ConversionStep best;
    best.step.cost = Cost::infinite();
    size_t bestAt = 0;
    for (auto [i, target] : llvm::enumerate(
             llvm::ArrayRef(missing).take_front(inOrder ? 1 : missing.size())))
      for (const AxisState &from : there)
        if (Conversion step = directConversion(from, target, value, costs);
            step.possible && step.cost < best.step.cost) {
          best = {from, target, step};
          bestAt = i;
        }
    steps.push_back(best);
    if (!best.step.possible)
      return steps;
    there.push_back(best.to);
    missing.erase(missing.begin() + bestAt);
  }
  return steps;
}

/// The cheapest conversions that make all of `materialization`.
static ConversionSteps
stepsToConversions(const MaterializedLayouts &materialization,
                   const AxisValue &value, const AxisCosts &costs) {
  llvm::SmallVector<AxisState, 4> missing(materialization.converted.begin(),
                                          materialization.converted.end());
  // Steps only grow more expensive the more of the value they keep, so the
  // cheapest tree is found by adding the cheapest missing state again and
  // again, from any state that is there.
  ConversionSteps best =
      stepsTo(missing, /*inOrder=*/false, materialization, value, costs);
  // Not so where shards change places: then any may better come first.
  constexpr size_t mostTried = 4;
  if (value.shardedByMinor.empty() || missing.size() > mostTried)
    return best;
  llvm::SmallVector<unsigned, 4> order =
      llvm::to_vector<4>(llvm::seq<unsigned>(missing.size()));
  do {
    llvm::SmallVector<AxisState, 4> ordered;
    for (unsigned i : order)
      ordered.push_back(missing[i]);
    ConversionSteps steps =
        stepsTo(ordered, /*inOrder=*/true, materialization, value, costs);
    if (sumOf(steps) < sumOf(best))
      best = std::move(steps);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// What a rank pays for holding the value in a state.
static Cost costOfHolding(const AxisState &state, const AxisValue &value,
                          const AxisCosts &costs) {
  double bytes = static_cast<double>(value.bytes);
  if (state.placement.isShard())
    bytes /= static_cast<double>(costs.ranks);
  return {saturatingRound(bytes * value.bytePrice), 0};
}

Cost tp::costOfConversions(const MaterializedLayouts &materialization,
                           const AxisValue &value, const AxisCosts &costs) {
  ConversionSteps steps = stepsToConversions(materialization, value, costs);
  Cost sum = costOfHolding(materialization.made, value, costs) + sumOf(steps);
  for (const ConversionStep &made : steps)
    sum += costOfHolding(made.to, value, costs);
  return sum;
}

std::vector<PlannedCollective> tp::collectivesOf(const AxisProblem &problem,
                                                 const AxisSolution &solution) {
  std::vector<PlannedCollective> made;
  for (auto [number, materialization] :
       llvm::enumerate(solution.materializations))
    for (const ConversionStep &converted : stepsToConversions(
             materialization, problem.values[number], problem.costs))
      if (converted.step.collective)
        made.push_back({static_cast<unsigned>(number), converted.from,
                        converted.to, *converted.step.collective});
  return made;
}

Cost tp::costOfUse(const MaterializedLayouts &materialization,
                   const Requirement &need, const AxisValue &value,
                   const AxisCosts &costs) {
  const AxisState &made = materialization.made;
  auto local = [&](const AxisState &from) {
    AxisState to = need.state;
    // A replicated value becomes an ordinary partial, which a pending one may
    // be added to.
    if (!from.pending && !from.placement.isPartial())
      to.pending = false;
    Conversion step = directConversion(from, to, value, costs);
    return step.possible && !step.collective ? step.cost : Cost::infinite();
  };
  Cost best = local(made);
  for (const AxisState &converted : materialization.converted) {
    bool given = need.mayCommunicate ||
                 (made.pending && need.state == AxisState::replicate());
    // A pending partial is only ever replicated: its replicated copy serves
    // those who need just that.
    if (!given || (made.pending && !(converted == need.state)))
      continue;
    best = std::min(best, local(converted));
  }
  return best;
}

std::vector<MaterializedLayouts>
tp::materializations(const AxisState &made, llvm::ArrayRef<Requirement> needs,
                     size_t uses, const AxisValue &value,
                     const AxisCosts &costs) {
  std::vector<MaterializedLayouts> result = {{made, {}}};
  // Shards that no replicated copy serves by slicing.
  auto isApart = [&](const AxisState &state) {
    return value.isShardedByMinor(state.placement);
  };
  llvm::SmallVector<AxisState, 4> shards;
  for (const Requirement &need : needs)
    if (need.mayCommunicate && need.state.placement.isShard() &&
        !(need.state == made) && !llvm::is_contained(shards, need.state) &&
        (!made.placement.isReplicate() || isApart(need.state)))
      shards.push_back(need.state);
  std::vector<MaterializedLayouts> sets = {{made, {}}};
  MaterializedLayouts replicated = {made, {AxisState::replicate()}};
  Cost costOfReplicated;
  if (!made.placement.isReplicate()) {
    costOfReplicated = costOfConversions(replicated, value, costs);
    result.push_back(replicated);
    if (made.pending)
      return result;
    if (llvm::any_of(shards, isApart))
      sets.push_back(replicated);
  }

  // A replicated copy serves all other uses by slicing, so sets of shards that
  // cost more collective time are never better.
  for (const AxisState &shard : shards)
    for (size_t i = 0, e = sets.size(); i < e; ++i) {
      bool hasWhole =
          llvm::is_contained(sets[i].converted, AxisState::replicate());
      if (sets[i].converted.size() == uses || (hasWhole && !isApart(shard)))
        continue;
      MaterializedLayouts with = sets[i];
      with.converted.push_back(shard);
      if (llvm::none_of(with.converted, isApart) &&
          costOfConversions(with, value, costs).primary >
              costOfReplicated.primary)
        continue;
      sets.push_back(with);
      result.push_back(std::move(with));
    }
  return result;
}

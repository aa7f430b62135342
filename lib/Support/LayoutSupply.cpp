//===- LayoutSupply.cpp - bringing a value where it is needed -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/LayoutProgram.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

std::string tp::toString(const AxisState &state) {
  return (state.pending ? "pending " : "") + toString(state.placement);
}

Cost AxisCosts::compute(double operations, double bytes,
                        NumberClass numbers) const {
  int64_t time = computeTime(operations, bytes, machine, numbers);
  return objective == Objective::Communication ? Cost{0, time} : Cost{time, 0};
}

Cost AxisCosts::collective(CollectiveKind kind,
                           const ProgramValue &value) const {
  Cost cost = collective(kind, payloadBytes(kind, value.bytes, ranks), ranks);
  cost.primary = saturatingRound(static_cast<double>(cost.primary) *
                                 static_cast<double>(value.collectiveFactor));
  return cost;
}

Step tp::directStep(const AxisState &from, const AxisState &to,
                    const ProgramValue &value, const AxisCosts &costs) {
  if (from == to)
    return {true, std::nullopt, Cost()};
  auto by = [&](CollectiveKind kind) {
    return Step{true, kind, costs.collective(kind, value)};
  };
  const Placement &source = from.placement, &target = to.placement;
  if (from.pending)
    return target.isReplicate() ? by(CollectiveKind::AllReduce) : Step();
  if (to.pending)
    return source == target ? Step{true, std::nullopt, Cost()} : Step();
  double bytes = static_cast<double>(value.bytes);
  switch (source.kind) {
  case PlacementKind::Replicate:
    // Slicing touches one part; making a partial touches the whole.
    return {true, std::nullopt,
            costs.localCopy(target.isShard()
                                ? bytes / static_cast<double>(costs.ranks)
                                : bytes)};
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

Cost tp::costOfExtras(const Supply &supply, const ProgramValue &value,
                      const AxisCosts &costs) {
  // Steps only grow more expensive the more of the value they keep, so the
  // cheapest tree is found by adding the cheapest missing state again and
  // again, from any state that is there.
  Cost sum;
  llvm::SmallVector<AxisState, 4> there = {supply.made};
  llvm::SmallVector<AxisState, 4> missing(supply.extra.begin(),
                                          supply.extra.end());
  while (!missing.empty()) {
    Cost best = Cost::infinite();
    size_t bestAt = 0;
    for (auto [i, target] : llvm::enumerate(missing))
      for (const AxisState &from : there)
        if (Step step = directStep(from, target, value, costs);
            step.possible && step.cost < best) {
          best = step.cost;
          bestAt = i;
        }
    sum += best;
    if (sum.isInfinite())
      return sum;
    there.push_back(missing[bestAt]);
    missing.erase(missing.begin() + bestAt);
  }
  return sum;
}

Cost tp::costOfUse(const Supply &supply, const Need &need,
                   const ProgramValue &value, const AxisCosts &costs) {
  const AxisState &made = supply.made;
  auto local = [&](const AxisState &from) {
    AxisState to = need.state;
    // A replicated value becomes an ordinary partial, which a pending one may
    // be added to.
    if (!from.pending && !from.placement.isPartial())
      to.pending = false;
    Step step = directStep(from, to, value, costs);
    return step.possible && !step.collective ? step.cost : Cost::infinite();
  };
  Cost best = local(made);
  for (const AxisState &extra : supply.extra) {
    bool given = need.mayCommunicate ||
                 (made.pending && need.state == AxisState::replicate());
    // A pending partial is only ever replicated: its replicated copy serves
    // those who need just that.
    if (!given || (made.pending && !(extra == need.state)))
      continue;
    best = std::min(best, local(extra));
  }
  return best;
}

std::vector<Supply> tp::supplies(const AxisState &made,
                                 llvm::ArrayRef<Need> needs, size_t uses,
                                 const ProgramValue &value,
                                 const AxisCosts &costs) {
  std::vector<Supply> result = {{made, {}}};
  if (made.placement.isReplicate())
    return result;
  Supply replicated = {made, {AxisState::replicate()}};
  Cost costOfReplicated = costOfExtras(replicated, value, costs);
  result.push_back(replicated);
  if (made.pending)
    return result;

  llvm::SmallVector<AxisState, 4> shards;
  for (const Need &need : needs)
    if (need.mayCommunicate && need.state.placement.isShard() &&
        !(need.state == made) && !llvm::is_contained(shards, need.state))
      shards.push_back(need.state);
  // A replicated copy serves all uses by slicing, so sets of shards that cost
  // more collective time are never better.
  std::vector<Supply> sets = {{made, {}}};
  for (const AxisState &shard : shards)
    for (size_t i = 0, e = sets.size(); i < e; ++i) {
      if (sets[i].extra.size() == uses)
        continue;
      Supply with = sets[i];
      with.extra.push_back(shard);
      Cost cost = costOfExtras(with, value, costs);
      if (cost.primary > costOfReplicated.primary)
        continue;
      sets.push_back(with);
      result.push_back(std::move(with));
    }
  return result;
}

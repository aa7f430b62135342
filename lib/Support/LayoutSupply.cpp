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
    if (value.forbidden && *value.forbidden == to.placement)
      return Step();
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

/// Calls `made` with the steps by which the extras of `supply` are made: from,
/// to, and the step. Stops at one that is impossible.
template <typename Made>
static void forEachExtra(const Supply &supply, const ProgramValue &value,
                         const AxisCosts &costs, Made made) {
  // Steps only grow more expensive the more of the value they keep, so the
  // cheapest tree is found by adding the cheapest missing state again and
  // again, from any state that is there.
  llvm::SmallVector<AxisState, 4> there = {supply.made};
  llvm::SmallVector<AxisState, 4> missing(supply.extra.begin(),
                                          supply.extra.end());
  while (!missing.empty()) {
    Step best;
    best.cost = Cost::infinite();
    size_t bestFrom = 0, bestAt = 0;
    for (auto [i, target] : llvm::enumerate(missing))
      for (auto [j, from] : llvm::enumerate(there))
        if (Step step = directStep(from, target, value, costs);
            step.possible && step.cost < best.cost) {
          best = step;
          bestFrom = j;
          bestAt = i;
        }
    made(there[bestFrom], missing[bestAt], best);
    if (!best.possible)
      return;
    there.push_back(missing[bestAt]);
    missing.erase(missing.begin() + bestAt);
  }
}

Cost tp::costOfExtras(const Supply &supply, const ProgramValue &value,
                      const AxisCosts &costs) {
  Cost sum;
  forEachExtra(supply, value, costs,
               [&](const AxisState &, const AxisState &, const Step &step) {
                 sum += step.cost;
               });
  return sum;
}

std::vector<MadeCollective> tp::collectivesOf(const LayoutProgram &program,
                                              const ProgramSolution &solution) {
  std::vector<MadeCollective> made;
  for (auto [number, supply] : llvm::enumerate(solution.supplies))
    forEachExtra(supply, program.values[number], program.costs,
                 [&, number = number](const AxisState &from,
                                      const AxisState &to, const Step &step) {
                   if (step.collective)
                     made.push_back({static_cast<unsigned>(number), from, to,
                                     *step.collective});
                 });
  return made;
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

//===- CheapestLayouts.cpp - the cheapest layouts by trying all -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapestLayouts.h"
#include "Interfaces/LocalParts.h"
#include "Interfaces/SimulatedStrategies.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <unordered_map>

using namespace tp;

static std::optional<CollectiveKind> collectiveBetween(const Placement &from,
                                                       const Placement &to) {
  if (to.isPartial() || from.isReplicate() || from == to)
    return std::nullopt;
  if (from.isPartial())
    return to.isReplicate() ? CollectiveKind::AllReduce
                            : CollectiveKind::ReduceScatter;
  if (to.isReplicate())
    return CollectiveKind::AllGather;
  // Other chunks of one dimension are made through the whole value.
  if (from.dim == to.dim)
    return std::nullopt;
  return CollectiveKind::AllToAll;
}

/// What a rank pays that makes `to` of `from` by itself; infinite where it
/// cannot.
static Cost costAlone(const Placement &from, const Placement &to,
                      const SearchValue &value, const AxisCosts &costs) {
  if (from == to ||
      (from.isReplicate() && to.isPartial() && combinesCopies(to.reduction)))
    return {};
  if (!from.isReplicate())
    return Cost::infinite();
  double bytes = static_cast<double>(bytesOf(value.type));
  return costs.localCopy(to.isShard() ? bytes / static_cast<double>(costs.ranks)
                                      : bytes);
}

namespace {
/// How a value is made, where collectives may bring it, and per set of these
/// what the cheapest tree of direct steps to exactly that set costs. The first
/// of `there` is how the value is made, and in every set.
struct Copies {
  llvm::SmallVector<Placement> there;
  std::vector<Cost> trees;

  Copies(const SearchValue &value, const Placement &made,
         const AxisCosts &costs);
};
} // namespace

Copies::Copies(const SearchValue &value, const Placement &made,
               const AxisCosts &costs)
    : there({made}) {
  int64_t bytes = std::max<int64_t>(1, bytesOf(value.type));
  for (const Placement &placement : placementsOf(value.type))
    if (!placement.isPartial() && placement != made)
      there.push_back(placement);
  trees.assign(size_t(1) << there.size(), Cost::infinite());
  trees[1] = Cost();
  for (size_t set = 1; set < trees.size(); ++set)
    for (auto [from, source] : llvm::enumerate(there))
      for (auto [to, target] : llvm::enumerate(there)) {
        std::optional<CollectiveKind> kind = collectiveBetween(source, target);
        if (!kind || !(set >> from & 1) || (set >> to & 1) ||
            trees[set].isInfinite())
          continue;
        Cost step = costs.collective(
            *kind, payloadBytes(*kind, bytes, costs.ranks), costs.ranks);
        step.primary =
            saturatingRound(static_cast<double>(step.primary) *
                            static_cast<double>(value.collectiveFactor));
        Cost &with = trees[set | size_t(1) << to];
        with = std::min(with, trees[set] + step);
      }
}

Cost CheapestLayouts::costOfValue(const SearchValue &value,
                                  const Placement &made,
                                  const std::vector<Placement> &needs) const {
  Copies copies(value, made, costs);
  Cost best = Cost::infinite();
  for (auto [set, tree] : llvm::enumerate(copies.trees)) {
    Cost sum = tree;
    for (const Placement &need : needs) {
      Cost least = Cost::infinite();
      for (auto [i, placement] : llvm::enumerate(copies.there))
        if (set >> i & 1)
          least = std::min(least, costAlone(placement, need, value, costs));
      sum += least;
    }
    best = std::min(best, sum);
  }
  return best;
}

namespace {
/// Of every value that is still needed how it is made and which copies its uses
/// took so far: two numbers each, in the order in which they are made.
using Frontier = std::u16string;
using Frontiers = std::unordered_map<Frontier, Cost>;

class Sweep {
public:
  Sweep(const SearchGraph &program, const AxisCosts &costs)
      : program(program), costs(costs), copiesOf(program.values.size()) {}
  /// The least cost, if that is no more than `most`, of what is found with at
  /// most `width` frontiers before each node.
  Cost run(size_t width, Cost most);

private:
  struct Live {
    unsigned value, usesLeft;
  };
  /// Adds to `next` what `strategy` makes of a frontier, the uses before `slot`
  /// being met, and leaves out what costs more than `most`.
  void use(const SearchNode &node, const SearchStrategy &strategy, size_t slot,
           Frontier &frontier, Cost cost, Cost most, Frontiers &next);
  size_t placeOf(unsigned value) const {
    return llvm::find_if(live,
                         [&](const Live &one) { return one.value == value; }) -
           live.begin();
  }
  const Copies &copies(unsigned value, size_t made) const {
    return copiesOf[value][made];
  }
  void makeLive(const SearchNode &node);
  void dropDead(Frontiers &frontiers);

  const SearchGraph &program;
  const AxisCosts &costs;
  /// Per value, one for each placement that it is made in; trees grow with
  /// their sets.
  std::vector<std::vector<Copies>> copiesOf;
  std::vector<Live> live;
};
} // namespace

void Sweep::makeLive(const SearchNode &node) {
  for (unsigned value : node.slots)
    --live[placeOf(value)].usesLeft;
  if (!node.result)
    return;
  live.push_back({*node.result, program.values[*node.result].uses});
  std::vector<Copies> &made = copiesOf[*node.result];
  if (!made.empty())
    return;
  for (const SearchStrategy &strategy : node.strategies) {
    if (llvm::any_of(made, [&](const Copies &known) {
          return known.there.front() == strategy.makes;
        }))
      continue;
    Copies &known =
        made.emplace_back(program.values[*node.result], strategy.makes, costs);
    // A larger set may take the same tree: whoever needs less pays no more.
    for (size_t set = known.trees.size(); set-- > 0;)
      for (size_t i = 0; i < known.there.size(); ++i)
        known.trees[set] =
            std::min(known.trees[set], known.trees[set | size_t(1) << i]);
  }
}

void Sweep::dropDead(Frontiers &frontiers) {
  Frontiers kept;
  for (auto &[frontier, cost] : frontiers) {
    Frontier left;
    for (auto [i, one] : llvm::enumerate(live))
      if (one.usesLeft > 0)
        left += frontier.substr(2 * i, 2);
    auto [it, isNew] = kept.try_emplace(std::move(left), cost);
    if (!isNew)
      it->second = std::min(it->second, cost);
  }
  frontiers = std::move(kept);
  llvm::erase_if(live, [](const Live &one) { return one.usesLeft == 0; });
}

void Sweep::use(const SearchNode &node, const SearchStrategy &strategy,
                size_t slot, Frontier &frontier, Cost cost, Cost most,
                Frontiers &next) {
  if (cost.isInfinite() || cost > most)
    return;
  if (slot == node.slots.size()) {
    Frontier after = frontier;
    if (node.result) {
      const std::vector<Copies> &made = copiesOf[*node.result];
      after += static_cast<char16_t>(
          llvm::find_if(made,
                        [&](const Copies &known) {
                          return known.there.front() == strategy.makes;
                        }) -
          made.begin());
      after += static_cast<char16_t>(1);
    }
    auto [it, isNew] = next.try_emplace(std::move(after), cost);
    if (!isNew)
      it->second = std::min(it->second, cost);
    return;
  }
  unsigned value = node.slots[slot];
  size_t place = 2 * placeOf(value);
  const Copies &known = copies(value, frontier[place]);
  auto before = static_cast<size_t>(frontier[place + 1]);
  for (auto [i, placement] : llvm::enumerate(known.there)) {
    Cost alone = costAlone(placement, strategy.needs[slot],
                           program.values[value], costs);
    size_t with = before | size_t(1) << i;
    if (alone.isInfinite() || known.trees[with].isInfinite())
      continue;
    Cost grown = {known.trees[with].primary - known.trees[before].primary,
                  known.trees[with].secondary - known.trees[before].secondary};
    frontier[place + 1] = static_cast<char16_t>(with);
    use(node, strategy, slot + 1, frontier, cost + alone + grown, most, next);
  }
  frontier[place + 1] = static_cast<char16_t>(before);
}

Cost Sweep::run(size_t width, Cost most) {
  // What the nodes after each cost at least.
  std::vector<Cost> rest(program.nodes.size() + 1);
  for (size_t i = program.nodes.size(); i-- > 0;) {
    Cost least = Cost::infinite();
    for (const SearchStrategy &strategy : program.nodes[i].strategies)
      least = std::min(least, strategy.cost);
    rest[i] = rest[i + 1] + least;
  }
  live.clear();
  Frontiers frontiers = {{Frontier(), Cost()}};
  for (auto [number, node] : llvm::enumerate(program.nodes)) {
    if (frontiers.size() > width) {
      std::vector<std::pair<Cost, Frontier>> cheapest;
      for (const auto &[frontier, cost] : frontiers)
        cheapest.push_back({cost, frontier});
      std::nth_element(cheapest.begin(), cheapest.begin() + width,
                       cheapest.end());
      frontiers.clear();
      for (auto &[cost, frontier] : llvm::ArrayRef(cheapest).take_front(width))
        frontiers.emplace(frontier, cost);
    }
    // Costs grow node by node, so more than `most` is never less again.
    Cost after = rest[number + 1];
    Cost here = most.isInfinite() || after.isInfinite()
                    ? most
                    : Cost{most.primary - after.primary,
                           most.secondary - after.secondary};
    makeLive(node);
    Frontiers next;
    for (const auto &[frontier, cost] : frontiers)
      for (const SearchStrategy &strategy : node.strategies) {
        Frontier scratch = frontier;
        use(node, strategy, 0, scratch, cost + strategy.cost, here, next);
      }
    frontiers = std::move(next);
    dropDead(frontiers);
  }
  return frontiers.empty() ? Cost::infinite() : frontiers.begin()->second;
}

Cost CheapestLayouts::cheapest(const SearchGraph &program) const {
  // Few frontiers find a cost that is not much too high, and with it what all
  // of them have to be searched below.
  Sweep sweep(program, costs);
  Cost most = sweep.run(200, Cost::infinite());
  return sweep.run(std::numeric_limits<size_t>::max(), most);
}

std::optional<Cost> CheapestLayouts::cheapestOfAll(const SearchGraph &program,
                                                   double limit) const {
  double combinations = 1;
  for (const SearchNode &node : program.nodes)
    combinations *= static_cast<double>(node.strategies.size());
  if (combinations > limit)
    return std::nullopt;
  std::vector<size_t> chosen(program.nodes.size(), 0);
  Cost best = Cost::infinite();
  while (combinations > 0) {
    Cost sum;
    std::vector<Placement> made(program.values.size());
    std::vector<std::vector<Placement>> needs(program.values.size());
    for (auto [node, choice] : llvm::zip(program.nodes, chosen)) {
      const SearchStrategy &strategy = node.strategies[choice];
      sum += strategy.cost;
      if (node.result)
        made[*node.result] = strategy.makes;
      for (auto [value, need] : llvm::zip(node.slots, strategy.needs))
        needs[value].push_back(need);
    }
    for (auto [value, what] : llvm::enumerate(program.values))
      if (!(best < sum))
        sum += costOfValue(what, made[value], needs[value]);
    best = std::min(best, sum);
    size_t node = 0;
    while (node < chosen.size() &&
           ++chosen[node] == program.nodes[node].strategies.size())
      chosen[node++] = 0;
    if (node == chosen.size())
      break;
  }
  return best;
}

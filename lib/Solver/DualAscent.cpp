//===- DualAscent.cpp - lower bounds of assignments -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/DualAscent.h"
#include <algorithm>
#include <map>

using namespace tp;
using namespace tp::detail;

/// Stands for infinite costs: far above all sums of finite ones, and far enough
/// from overflow that one of those can be added.
static constexpr WideCost infiniteWide = WideCost(1) << 125;

/// The most that primary and secondary costs may add up to, so that secondary
/// costs never reach a primary one.
static constexpr int64_t mostPrimary = int64_t(1) << 56;
static constexpr int64_t mostSecondary = int64_t(1) << 62;

/// More than any assignment costs. What a state of no assignment costs grows
/// without end and is stopped here, which keeps bounds what they are.
static constexpr WideCost mostWide = WideCost(1) << 121;

Cost detail::narrowed(WideCost wide) {
  WideCost primary = wide >> 64, secondary = wide - (primary << 64);
  if (secondary >= mostSecondary)
    return {static_cast<int64_t>(primary + 1), 0};
  return {static_cast<int64_t>(primary), static_cast<int64_t>(secondary)};
}

bool DualAscent::isExact(const AssignmentProblem &core) {
  WideCost primary = 0, secondary = 0;
  auto add = [&](const std::vector<Cost> &costs) {
    int64_t mostHere = 0, mostSecondaryHere = 0;
    for (const Cost &cost : costs) {
      if (cost.isInfinite())
        continue;
      mostHere = std::max(mostHere, cost.primary);
      mostSecondaryHere = std::max(mostSecondaryHere, cost.secondary);
    }
    primary += mostHere;
    secondary += mostSecondaryHere;
  };
  for (const std::vector<Cost> &costs : core.states)
    add(costs);
  for (const AssignmentProblem::Pair &pair : core.pairs)
    add(core.costs(pair));
  return primary < mostPrimary && secondary < mostSecondary;
}

DualAscent::DualAscent(const AssignmentProblem &core,
                       const std::vector<unsigned> &visited)
    : order(visited), position(core.states.size()), sides(core.states.size()) {
  for (unsigned i = 0; i < order.size(); ++i)
    position[order[i]] = i;
  for (const std::vector<Cost> &costs : core.states) {
    std::vector<WideCost> wide;
    for (const Cost &cost : costs)
      wide.push_back(widened(cost));
    bounds.emplace_back(costs.size(), 0);
    remaining.push_back(std::move(wide));
  }

  std::map<std::pair<unsigned, size_t>, size_t> known;
  std::vector<size_t> tableOf;
  for (const AssignmentProblem::Pair &pair : core.pairs) {
    size_t rows = core.states[pair.first].size();
    size_t columns = core.states[pair.second].size();
    auto [at, isNew] = known.try_emplace({pair.table, rows}, tables.size());
    tableOf.push_back(at->second);
    if (!isNew)
      continue;
    std::vector<WideCost> asIs(rows * columns), transposed(rows * columns);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        const Cost &cost = core.costs(pair)[i * columns + j];
        asIs[i * columns + j] = transposed[j * rows + i] =
            cost.isInfinite() ? infiniteWide : widened(cost);
      }
    tables.push_back(std::move(asIs));
    tables.push_back(std::move(transposed));
  }
  size_t size = 0;
  for (size_t i = 0; i < core.pairs.size(); ++i) {
    const AssignmentProblem::Pair &pair = core.pairs[i];
    size_t ofFirst = size;
    size_t ofSecond = ofFirst + core.states[pair.first].size();
    size = ofSecond + core.states[pair.second].size();
    sides[pair.first].push_back(
        {pair.second, &tables[tableOf[i]], ofFirst, ofSecond});
    sides[pair.second].push_back(
        {pair.first, &tables[tableOf[i] + 1], ofSecond, ofFirst});
  }
  moved.assign(size, 0);
}

void DualAscent::visit(unsigned variable, bool isForward) {
  std::vector<WideCost> &own = remaining[variable];
  // All that the pairs cost for certain with each state comes here.
  for (const Side &side : sides[variable]) {
    const WideCost *costs = side.costs->data();
    const WideCost *others = moved.data() + side.others;
    size_t columns = remaining[side.neighbor].size();
    for (size_t state = 0; state < own.size(); ++state, costs += columns) {
      WideCost least = costs[0] + others[0];
      for (size_t j = 1; j < columns; ++j)
        least = std::min(least, costs[j] + others[j]);
      WideCost &into = moved[side.own + state];
      own[state] = std::min(own[state] + least + into, mostWide);
      into = -least;
    }
  }
  WideCost least = *std::min_element(own.begin(), own.end());
  taken += least;
  for (size_t state = 0; state < own.size(); ++state) {
    own[state] -= least;
    bounds[variable][state] =
        std::max(bounds[variable][state], taken + own[state]);
  }
  // What is left is shared by the pairs with variables to come. Where more came
  // than are to come a part stays, or the next visit would find nothing.
  auto isAhead = [&](const Side &side) {
    return (position[side.neighbor] > position[variable]) == isForward;
  };
  size_t ahead =
      std::count_if(sides[variable].begin(), sides[variable].end(), isAhead);
  if (!ahead)
    return;
  size_t shares = std::max(ahead, sides[variable].size() - ahead);
  for (size_t state = 0; state < own.size(); ++state) {
    WideCost share = own[state] / static_cast<WideCost>(shares);
    for (const Side &side : sides[variable])
      if (isAhead(side)) {
        moved[side.own + state] += share;
        own[state] -= share;
      }
  }
}

void DualAscent::ascend() {
  for (size_t i = 0; i < order.size() && !isInfeasible(); ++i)
    visit(order[i], true);
  for (size_t i = order.size(); i-- > 0 && !isInfeasible();)
    visit(order[i], false);
}

bool DualAscent::isInfeasible() const { return taken >= mostWide; }

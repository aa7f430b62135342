//===- LayoutGraph.h - all layouts and all steps between them ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph of all layouts of a tensor on a mesh: every way to write every
// layout, every step that `layoutAfter` allows from there. What is sent is
// counted in the blocks that are exchanged (ShardBlocks.h).
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_LAYOUTGRAPH_H
#define TP_TEST_UNIT_SHARDING_LAYOUTGRAPH_H

#include "LayoutFamilies.h"
#include "tp/Sharding/RingCost.h"
#include <array>
#include <map>
#include <queue>

namespace tp::test {
/// Bytes sent and 1024 per collective, then picoseconds of copying.
using Price = std::pair<int64_t, int64_t>;

/// All lists of parts that have no rank's position in common.
inline std::vector<std::vector<AxisPart>>
listsOfParts(const std::vector<std::vector<AxisPart>> &cuts) {
  std::set<std::vector<AxisPart>> lists;
  for (const std::vector<AxisPart> &cut : cuts)
    for (unsigned chosen = 1; chosen < 1u << cut.size(); ++chosen) {
      std::vector<AxisPart> list;
      for (size_t i = 0; i < cut.size(); ++i)
        if (chosen >> i & 1)
          list.push_back(cut[i]);
      llvm::sort(list);
      do
        lists.insert(list);
      while (std::next_permutation(list.begin(), list.end()));
    }
  return {lists.begin(), lists.end()};
}

class LayoutGraph {
public:
  /// Ways may start and end at layouts with `placements`.
  LayoutGraph(const Mesh &mesh, std::vector<std::vector<AxisPart>> cuts,
              std::vector<Placement> placements, Shape shape)
      : mesh(mesh), shape(std::move(shape)), placements(std::move(placements)),
        lists(listsOfParts(cuts)) {
    size_t given = this->placements.size();
    for (const std::vector<AxisPart> &cut : cuts)
      for (const Layout &layout :
           layoutsOver(mesh, this->shape, cut, this->placements))
        for (const Placement &more : chunkingsOf(layout))
          if (!llvm::is_contained(this->placements, more))
            this->placements.push_back(more);
    uint64_t ends = (uint64_t(1) << given) - 1;
    for (const std::vector<AxisPart> &cut : cuts)
      for (Layout &layout :
           layoutsOver(mesh, this->shape, cut, this->placements)) {
        auto [it, isNew] =
            numbers.try_emplace(signature(layout), numbers.size());
        if (isNew) {
          examples.push_back(layout);
          spellings.emplace_back();
        }
        spellings[it->second].insert(chunkings(layout));
        classes.push_back(it->second);
        mayEnd.push_back(!(chunkings(layout) & ~ends));
        layouts.push_back(std::move(layout));
      }
    edges.resize(numbers.size());
    for (auto [layout, number] : llvm::zip(layouts, classes))
      addSteps(layout, number);
    addPermutations();
  }

  /// The chunkings that a way between two layouts may use.
  std::vector<Placement> chunkingsOf(const Layout &layout) const {
    std::vector<Placement> result;
    for (const auto &[part, placement] : layout.entries)
      if (placement.isShard() && part.size > 1)
        result.push_back(placement);
    for (auto [dim, size] : llvm::enumerate(shape)) {
      int64_t chunk = layout.localSize(dim, size);
      if (chunk * layout.shardCount(dim) != size && chunk > 1 && chunk < size)
        result.push_back(Placement::shard(dim, chunk));
    }
    return result;
  }
  uint64_t maskOf(llvm::ArrayRef<Placement> some) const {
    uint64_t mask = 0;
    for (const Placement &placement : some)
      if (placement.isShard() && placement != Placement::shard(placement.dim))
        mask |= uint64_t(1)
                << (llvm::find(placements, placement) - placements.begin());
    return mask;
  }
  /// Those that a layout is written in, plain ones aside.
  uint64_t chunkings(const Layout &layout) const {
    std::vector<Placement> all;
    for (const auto &[part, placement] : layout.entries)
      if (part.size > 1)
        all.push_back(placement);
    return maskOf(all);
  }

  /// The layouts on a cheapest way, as found by `pricesFrom`.
  std::string wayTo(size_t target) const {
    std::string text = examples[target].toString(mesh);
    if (auto it = reachedFrom.find(target); it != reachedFrom.end())
      text = wayTo(it->second) + " to " + text;
    return text;
  }

  std::vector<Price> pricesFrom(size_t source, size_t size, uint64_t allowed) {
    std::vector<Price> prices(edges.size(), {saturatedCost, 0});
    reachedFrom.clear();
    std::priority_queue<std::pair<Price, size_t>,
                        std::vector<std::pair<Price, size_t>>, std::greater<>>
        open;
    prices[source] = {};
    open.push({{}, source});
    while (!open.empty()) {
      auto [price, at] = open.top();
      open.pop();
      if (price != prices[at])
        continue;
      for (const auto &[where, steps] : edges[at]) {
        auto [to, uses] = where;
        if (uses & ~allowed)
          continue;
        const Price &step = steps[size];
        Price next{price.first + step.first, price.second + step.second};
        if (!(next < prices[to]))
          continue;
        open.push({prices[to] = next, to});
        reachedFrom[to] = at;
      }
    }
    return prices;
  }

  /// What `step` costs on a tensor in layout `before`.
  Price priceOf(const Layout &before, const LayoutStep &step,
                const Layout &after, int64_t elementBytes) const {
    double n = 1;
    for (AxisPart part : step.parts)
      n *= part.size;
    auto others = [&](const Layout &layout, int64_t a, int64_t b) {
      double product = elementBytes;
      for (auto [dim, size] : llvm::enumerate(layout.localShape(shape)))
        if (static_cast<int64_t>(dim) != a && static_cast<int64_t>(dim) != b)
          product *= size;
      return product;
    };
    auto blocks = [&](const Layout &layout, int64_t dim) {
      ShardBlocks all = shardBlocks(mesh, shape, layout, dim, step.parts);
      return static_cast<double>(all.blockSize);
    };
    auto sent = [](double bytes) {
      return Price(std::llround(bytes) + 1024, 0);
    };
    auto copied = [](double bytes) {
      return Price(0, computeTime(0, 2 * bytes, Machine()));
    };
    switch (step.kind) {
    case StepKind::Reinterpret:
      return {};
    case StepKind::LocalSlice:
      return copied(others(after, -1, -1));
    case StepKind::LocalPartial:
      // All ranks keep what they have.
      if (step.reduction != ReductionKind::Sum &&
          step.reduction != ReductionKind::Product)
        return {};
      return copied(others(before, -1, -1));
    case StepKind::AllReduce:
      return sent(2 * others(before, -1, -1) * (n - 1) / n);
    case StepKind::ReduceScatter:
      return sent((n - 1) * others(before, step.dim, -1) *
                  blocks(after, step.dim));
    case StepKind::AllGather:
      return sent((n - 1) * others(before, step.dim, -1) *
                  blocks(before, step.dim));
    case StepKind::AllToAll:
      return sent((n - 1) * others(before, step.dim, step.sourceDim) *
                  blocks(after, step.dim) * blocks(before, step.sourceDim));
    case StepKind::Permute:
      return sent(others(before, -1, -1));
    }
    return {};
  }

  std::string signature(const Layout &layout) const {
    std::string text;
    auto add = [&](int64_t number) { text += std::to_string(number) + " "; };
    for (auto [dim, size] : llvm::enumerate(shape)) {
      add(layout.localSize(dim, size));
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
        for (const Interval &held : heldElements(mesh, size, dim, layout, rank))
          for (int64_t number :
               {held.globalOffset, held.localOffset, held.size})
            add(number);
        text += ";";
      }
    }
    for (const auto &[part, placement] : joined(layout).entries)
      if (placement.isPartial() && part.size > 1) {
        for (int64_t number : {int64_t(part.axis), part.major, part.size})
          add(number);
        text += toString(placement.reduction);
      }
    return text;
  }

  const Mesh &mesh;
  Shape shape;
  std::vector<Placement> placements;
  std::vector<std::vector<AxisPart>> lists;
  /// Every way to write a layout, and what numbers the layouts have.
  std::vector<Layout> layouts, examples;
  std::vector<size_t> classes;
  std::vector<bool> mayEnd;
  /// At 4 bytes the number of collectives decides, at many the bytes do.
  static constexpr std::array<int64_t, 3> elementBytes = {4, 700, 65536};

private:
  void addSteps(const Layout &layout, size_t number) {
    auto tryStep = [&](LayoutStep step, const Placement &placement) {
      for (AxisPart part : step.parts)
        step.result.entries.push_back({part, placement});
      std::optional<Layout> after = layoutAfter(mesh, shape, layout, step);
      if (!after)
        return;
      auto it = numbers.find(signature(*after));
      if (it != numbers.end())
        addEdge(number, it->second,
                chunkings(layout) | maskOf(placement) | chunkings(*after),
                layout, step, *after);
    };
    int64_t rank = shape.size();
    for (const std::vector<AxisPart> &parts : lists) {
      for (const Placement &placement : placements) {
        if (placement.isShard()) {
          tryStep(LayoutStep(StepKind::LocalSlice, parts, ReductionKind::Sum,
                             placement.dim),
                  placement);
          for (const Placement &partial : placements)
            if (partial.isPartial())
              tryStep(LayoutStep(StepKind::ReduceScatter, parts,
                                 partial.reduction, placement.dim),
                      placement);
          for (int64_t source = 0; source < rank; ++source)
            if (source != placement.dim)
              tryStep(LayoutStep(StepKind::AllToAll, parts, ReductionKind::Sum,
                                 placement.dim, source),
                      placement);
        }
        if (placement.isPartial() && llvm::is_sorted(parts)) {
          tryStep(LayoutStep(StepKind::AllReduce, parts, placement.reduction),
                  Placement::replicate());
          tryStep(
              LayoutStep(StepKind::LocalPartial, parts, placement.reduction),
              placement);
        }
      }
      for (int64_t dim = 0; dim < rank; ++dim)
        tryStep(LayoutStep(StepKind::AllGather, parts, ReductionKind::Sum, dim),
                Placement::replicate());
    }
  }

  void addPermutations() {
    for (auto [from, source] : llvm::enumerate(examples)) {
      std::vector<AxisPart> parts;
      std::vector<AxisPlacement> partial;
      for (const AxisPlacement &entry : joined(source).entries)
        if (entry.placement.isPartial())
          partial.push_back(entry);
        else
          parts.push_back(entry.part);
      llvm::sort(parts);
      for (auto [to, target] : llvm::enumerate(examples)) {
        std::vector<AxisPlacement> others;
        for (const AxisPlacement &entry : joined(target).entries)
          if (entry.placement.isPartial())
            others.push_back(entry);
        if (from == to || others != partial || parts.empty() ||
            !permutationBetween(mesh, shape, source, target, parts))
          continue;
        for (uint64_t spelling : spellings[to])
          addEdge(from, to, spelling, source,
                  LayoutStep(StepKind::Permute, parts), target);
      }
    }
  }

  void addEdge(size_t from, size_t to, uint64_t uses, const Layout &before,
               const LayoutStep &step, const Layout &after) {
    Prices prices;
    for (auto [price, bytes] : llvm::zip(prices, elementBytes))
      price = priceOf(before, step, after, bytes);
    auto [it, isNew] = edges[from].try_emplace({to, uses}, prices);
    for (auto [old, price] : llvm::zip(it->second, prices))
      old = std::min(old, price);
  }

  std::map<std::string, size_t> numbers;
  std::vector<std::set<uint64_t>> spellings;
  using Prices = std::array<Price, elementBytes.size()>;
  /// By where they lead and what chunkings they are written in.
  std::vector<std::map<std::pair<size_t, uint64_t>, Prices>> edges;
  std::map<size_t, size_t> reachedFrom;
};

/// The axes in parts in all ways.
inline std::vector<std::vector<AxisPart>> allCuts(const Mesh &mesh) {
  std::vector<std::vector<AxisPart>> cuts = {{}};
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    std::vector<std::vector<AxisPart>> next, ways;
    auto cut = [&](auto &&self, std::vector<AxisPart> parts,
                   int64_t major) -> void {
      int64_t rest = mesh.axes[axis].size / major;
      if (rest == 1 && !parts.empty()) {
        ways.push_back(parts);
        return;
      }
      for (int64_t size = rest; size > (rest > 1); --size)
        if (rest % size == 0) {
          parts.push_back({axis, major, size});
          self(self, parts, major * size);
          parts.pop_back();
        }
    };
    cut(cut, {}, 1);
    for (const std::vector<AxisPart> &before : cuts)
      for (const std::vector<AxisPart> &way : ways) {
        next.push_back(before);
        llvm::append_range(next.back(), way);
      }
    cuts = std::move(next);
  }
  return cuts;
}
} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_LAYOUTGRAPH_H

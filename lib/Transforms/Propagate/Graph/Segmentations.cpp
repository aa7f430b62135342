//===- Segmentations.cpp - which dimensions are packed --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fused projection makes a dimension of several things side by side, and
// slices take them apart again. Each slice alone knows where it begins and
// ends; where the whole dimension can be cut is known only from all of them.
//
// A pad takes nothing apart: it may cut finer what slices cut. Its cuts make
// segmentations beside the others, so that no pad takes a choice away.
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h" // IWYU pragma: keep
#include "llvm/ADT/EquivalenceClasses.h"
#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
/// A factor of a node, or a dimension of a value (after all factors).
using Place = unsigned;

/// A shift that meets what it shifts cuts a dimension again at every cut, to
/// its end: with pads, more segments than these are not tried.
constexpr size_t mostSegmentsWithPads = 64;

class SegmentationFinder {
public:
  SegmentationFinder(AssignmentGraph &graph, bool withPads)
      : graph(graph), withPads(withPads) {}
  void run();

private:
  struct WindowUse {
    Place whole, part;
    FactorWindow window;
  };

  void number();
  void unite();
  bool isLeftOut(const Node &node, const DimFactors &parts) const;
  void visit(unsigned node, unsigned value, const TensorFactors &dims);
  void markPinned();
  void markPinned(unsigned value, int64_t dim);
  void exchangeEdges();
  bool hasTooMany(const std::set<int64_t> &edges) const {
    return withPads && edges.size() > mostSegmentsWithPads;
  }

  AssignmentGraph &graph;
  const bool withPads;
  /// Number of the first factor of every node and first dimension of every
  /// value.
  std::vector<Place> factors, dims;
  llvm::EquivalenceClasses<Place> classes;
  std::vector<WindowUse> windows;
  llvm::DenseMap<Place, std::set<int64_t>> edges;
  llvm::DenseMap<Place, int64_t> sizes;
  llvm::DenseSet<Place> pinned;
};
} // namespace

void SegmentationFinder::number() {
  Place next = 0;
  for (const Node &node : graph.nodes) {
    factors.push_back(next);
    next += node.rule.factors.size();
  }
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    dims.push_back(next);
    next += graph.type(value).getRank();
  }
  for (Place place = 0; place < next; ++place)
    classes.insert(place);
}

static bool isPad(const Node &node) {
  return isa_and_nonnull<tensor::PadOp>(node.op);
}

/// Whether `parts` is a padded dimension, in a search without pads.
bool SegmentationFinder::isLeftOut(const Node &node,
                                   const DimFactors &parts) const {
  if (withPads || !isPad(node))
    return false;
  return llvm::any_of(node.rule.slotFactors[0], [&](const DimFactors &source) {
    return source.window && source.front() == parts.front();
  });
}

void SegmentationFinder::visit(unsigned node, unsigned value,
                               const TensorFactors &tensor) {
  for (auto [dim, parts] : llvm::enumerate(tensor)) {
    if (parts.size() != 1 || isLeftOut(graph.nodes[node], parts))
      continue;
    Place whole = factors[node] + parts.front(), place = dims[value] + dim;
    if (parts.window)
      windows.push_back({whole, place, *parts.window});
    else
      classes.unionSets(whole, place);
  }
}

void SegmentationFinder::unite() {
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    for (auto [slot, tensor] : llvm::enumerate(node.rule.slotFactors))
      visit(number, node.slots[slot], tensor);
    if (node.kind == Node::Kind::Op || node.kind == Node::Kind::Constrain)
      for (auto [result, value] : llvm::enumerate(node.results))
        visit(number, value, node.rule.resultFactors[result]);
  }
}

/// The factors of `parts` that hold whole things: of several all but the last,
/// which is the size of one of them.
static ArrayRef<unsigned> countingFactors(const DimFactors &parts) {
  ArrayRef<unsigned> all(parts);
  return all.size() > 1 ? all.drop_back() : all;
}

void SegmentationFinder::markPinned(unsigned value, int64_t dim) {
  for (SlotUse use : graph.uses[value]) {
    const ShardingRule &rule = graph.nodes[use.node].rule;
    if (use.slot >= rule.slotFactors.size())
      continue;
    for (unsigned factor : countingFactors(rule.slotFactors[use.slot][dim]))
      pinned.insert(classes.getLeaderValue(factors[use.node] + factor));
  }
}

void SegmentationFinder::markPinned() {
  auto isShard = [](const std::optional<Pin> &pin) {
    return pin && pin->placement.isShard();
  };
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    for (const std::optional<Pin> &pin : node.pins) {
      if (!isShard(pin))
        continue;
      if (node.kind == Node::Kind::Constrain) {
        ArrayRef<int64_t> pinnedDims(pin->dims);
        if (pinnedDims.size() > 1)
          pinnedDims = pinnedDims.drop_back();
        for (int64_t dim : pinnedDims)
          pinned.insert(classes.getLeaderValue(factors[number] + dim));
        if (pin->placement.segments.empty())
          continue;
        Place place =
            classes.getLeaderValue(factors[number] + pin->placement.dim);
        pinned.insert(place);
        int64_t edge = 0;
        for (int64_t segment : pin->placement.segments)
          edges[place].insert(edge += segment);
        continue;
      }
      if (node.kind == Node::Kind::Argument)
        markPinned(node.results.front(), pin->placement.dim);
    }
    // What may be sharded is cut as what is.
    if (node.kind == Node::Kind::Argument &&
        llvm::any_of(node.free, [](auto free) { return free.has_value(); }))
      for (int64_t dim = 0; dim < graph.type(node.results.front()).getRank();
           ++dim)
        markPinned(node.results.front(), dim);
  }
}

/// What is cut in a slice is cut in the whole, and the other way round.
void SegmentationFinder::exchangeEdges() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const WindowUse &use : windows) {
      Place whole = classes.getLeaderValue(use.whole);
      Place part = classes.getLeaderValue(use.part);
      int64_t offset = use.window.offset, size = use.window.size;
      std::set<int64_t> ofPart = edges[part], ofWhole = edges[whole];
      if (pinned.contains(whole))
        changed |= pinned.insert(part).second;
      auto add = [&](Place to, int64_t edge) {
        std::set<int64_t> &all = edges[to];
        if (!hasTooMany(all))
          changed |= all.insert(edge).second;
      };
      add(whole, offset);
      add(whole, offset + size);
      for (int64_t edge : ofPart)
        if (edge > 0 && edge < size)
          add(whole, edge + offset);
      for (int64_t edge : ofWhole)
        if (edge > offset && edge < offset + size)
          add(part, edge - offset);
    }
  }
}

void SegmentationFinder::run() {
  number();
  unite();
  markPinned();
  exchangeEdges();
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    for (auto [index, factor] : llvm::enumerate(node.rule.factors)) {
      Place place = classes.getLeaderValue(factors[number] + index);
      std::set<int64_t> cuts = edges.lookup(place);
      if (!pinned.contains(place) || hasTooMany(cuts))
        continue;
      std::vector<int64_t> segments;
      int64_t start = 0;
      for (int64_t edge : cuts) {
        if (edge <= start || edge >= factor.size)
          continue;
        segments.push_back(edge - start);
        start = edge;
      }
      if (segments.empty())
        continue;
      segments.push_back(factor.size - start);
      // Single indices are no choice (legalChoices). Those that slices take
      // mark a dimension that packs heads (wholeFactors), no others do.
      bool isNew = !llvm::is_contained(factor.segmentations, segments);
      if (isNew && !(withPads && int64_t(segments.size()) == factor.size))
        factor.segmentations.push_back(std::move(segments));
    }
  }
}

void propagate::findSegmentations(AssignmentGraph &graph) {
  for (Node &node : graph.nodes)
    for (Factor &factor : node.rule.factors)
      factor.segmentations.clear();
  SegmentationFinder(graph, /*withPads=*/false).run();
  if (llvm::any_of(graph.nodes, isPad))
    SegmentationFinder(graph, /*withPads=*/true).run();
}

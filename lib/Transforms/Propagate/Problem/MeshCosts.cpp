//===- MeshCosts.cpp - what an assignment on all axes costs ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeshCosts.h"
#include "AxisModelBuilder.h"
#include "tp/IR/ElementBytes.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

Layout propagate::portLayout(const AssignmentGraph &graph,
                             ArrayRef<std::optional<Decision>> made) {
  Layout layout;
  for (auto [part, decision] : llvm::zip_equal(graph.parts, made))
    layout.entries.push_back({part, decision->port});
  // Chunks that divide evenly are the same in every unit; what the parts of
  // one dimension agree on is the unit of those that do not.
  for (AxisPlacement &entry : layout.entries)
    for (AxisPlacement &other : layout.entries)
      if (entry.placement.isShard() && other.placement.isShard() &&
          entry.placement.dim == other.placement.dim)
        entry.placement.unit =
            std::max(entry.placement.unit, other.placement.unit);
  layout.canonicalize();
  return layout;
}

MeshCosts::Layouts MeshCosts::layoutsOf(unsigned number,
                                        const Decisions &decided) const {
  const Node &node = graph.nodes[number];
  Layouts found;
  if (node.isPort()) {
    auto &ports = node.kind == Node::Kind::Result ? found.slots : found.results;
    ports.push_back(portLayout(graph, decided.of[number]));
    return found;
  }
  Strategy strategy;
  for (auto [part, made] : llvm::zip_equal(graph.parts, decided.of[number]))
    strategy.entries.push_back({part, made->choice});
  for (unsigned slot = 0; slot < node.slots.size(); ++slot)
    found.slots.push_back(node.rule.slotLayout(slot, strategy));
  for (unsigned result = 0; result < node.results.size(); ++result)
    found.results.push_back(node.rule.resultLayout(result, strategy));
  // A pin's value changes before it.
  if (node.kind == Node::Kind::Constrain)
    found.slots = {found.results.front()};
  return found;
}

Cost MeshCosts::ofComputing(Decisions decided) const {
  // Any part will do: an op is split by it and by what the others decided.
  constexpr unsigned part = 0;
  std::vector<Choice> choices;
  for (auto &ofNode : decided.of) {
    choices.push_back(std::move(ofNode[part]->choice));
    ofNode[part].reset();
  }
  AxisModelBuilder builder(graph, part, decided, options, {});
  Cost sum;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.kind == Node::Kind::Op)
      sum += builder.costOf(number, choices[number]);
  return sum;
}

MeshCosts::MeshCosts(const AssignmentGraph &graph,
                     const AssignmentOptions &options)
    : graph(graph), options(options), paths(graph.mesh()),
      isOfData(graph.mesh().axes.size(), false), held(sharesOfStep(graph)) {
  for (auto [number, part] : llvm::enumerate(graph.parts))
    isOfData[part.axis] = isDataParallel(graph, number);
}

/// Whether the step sends what it does not reduce over an axis of data alone.
bool MeshCosts::movesData(const LayoutStep &step) const {
  std::optional<CollectiveKind> kind = collectiveOf(step.kind);
  return kind && kind != CollectiveKind::AllReduce &&
         kind != CollectiveKind::ReduceScatter &&
         llvm::any_of(step.parts,
                      [&](AxisPart part) { return isOfData[part.axis]; });
}

Cost MeshCosts::ofChange(unsigned value, const Layout &from, const Layout &to) {
  RankedTensorType type = graph.type(value);
  int64_t bytes = elementBytes(type.getElementType());
  StepCosts costs;
  costs.objective = options.objective;
  Cost sum;
  Layout at = from;
  for (const LayoutStep &step : paths.path(type.getShape(), bytes, from, to)) {
    costs.machine = options.hardware.machineAlong(graph.mesh(), step.parts);
    costs.countsHalves = llvm::any_of(step.parts, [&](AxisPart part) {
      return isAutoAxis(graph, part.axis);
    });
    Cost cost = pathCost(type.getShape(), bytes, at, step, costs)
                    .times(graph.calls[value]);
    if (collectiveOf(step.kind) && graph.movesWeights(value))
      cost.primary *= weightPenalty;
    else if (movesData(step))
      cost.primary += dataMovementPenalty;
    sum += cost;
    at = step.result;
  }
  return sum;
}

Cost MeshCosts::ofValue(unsigned value, const Layout &made,
                        ArrayRef<Layout> needed) {
  bool needsWhole = llvm::any_of(
      needed, [](const Layout &layout) { return layout.isReplicated(); });
  Cost sum;
  std::optional<Layout> source;
  if (needsWhole && !made.isReplicated()) {
    source = Layout::replicated(graph.mesh());
    sum += ofChange(value, made, *source);
  }
  SmallVector<Layout> there = {made};
  if (source)
    there.push_back(*source);
  for (const Layout &layout : needed) {
    if (llvm::is_contained(there, layout) ||
        (needsWhole && layout.isReplicated()))
      continue;
    sum += ofChange(value, source.value_or(made), layout);
    // Nothing is reduced twice.
    if (!source && made.hasPartial() && !layout.hasPartial())
      source = layout;
    there.push_back(layout);
  }
  RankedTensorType type = graph.type(value);
  for (const Layout &layout : there) {
    double bytes = static_cast<double>(elementBytes(type.getElementType()));
    for (int64_t size : layout.localShape(type.getShape()))
      bytes *= static_cast<double>(size);
    sum += Cost{saturatingRound(bytes * options.bytePrice * held[value]), 0};
  }
  return sum;
}

Cost MeshCosts::of(const Decisions &decided) {
  std::vector<Layout> made(graph.values.size());
  std::vector<SmallVector<Layout, 2>> needed(graph.values.size());
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    Layouts layouts = layoutsOf(number, decided);
    for (auto [value, layout] : llvm::zip_equal(node.results, layouts.results))
      made[value] = std::move(layout);
    for (auto [value, layout] : llvm::zip_equal(node.slots, layouts.slots))
      needed[value].push_back(std::move(layout));
  }
  Cost sum = ofComputing(decided);
  for (unsigned value = 0; value < graph.values.size(); ++value)
    sum += ofValue(value, made[value], needed[value]);
  return sum;
}

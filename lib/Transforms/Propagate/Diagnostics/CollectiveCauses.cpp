//===- CollectiveCauses.cpp - why a collective is there -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCauses.h"
#include "tp/IR/Entries.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

SmallVector<DictionaryAttr> tp::propagate::bindingsOf(mlir::func::FuncOp func) {
  SmallVector<DictionaryAttr> rows;
  if (auto bindings =
          func->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(
              attr::bindings))
    for (Attribute row : bindings)
      if (auto binding = dyn_cast<DictionaryAttr>(row))
        rows.push_back(binding);
  return rows;
}

std::optional<unsigned>
tp::propagate::argumentBehind(const AssignmentGraph &graph,
                              ArrayRef<unsigned> producers, unsigned value) {
  while (graph.isWeight[value]) {
    const Node &node = graph.nodes[producers[value]];
    if (node.kind == Node::Kind::Argument)
      return producers[value];
    const auto *source = llvm::find_if(
        node.slots, [&](unsigned slot) { return graph.isWeight[slot]; });
    if (source == node.slots.end())
      return std::nullopt;
    value = *source;
  }
  return std::nullopt;
}

static constexpr size_t mostPins = 8;

namespace {
class CauseFinder {
public:
  CauseFinder(const AssignmentGraph &graph, const PartSolution &solved)
      : graph(graph), solved(solved), producers(graph.values.size()) {
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      for (unsigned value : node.results)
        producers[value] = number;
  }

  std::vector<Cause> find() const {
    std::vector<Cause> causes;
    for (const CostedCollective &collective :
         costedCollectives(graph, solved)) {
      Cause &cause = causes.emplace_back();
      cause.collective = collective;
      unsigned value = collective.made.value;
      for (SlotUse use : graph.uses[value])
        if (isServed(use, collective.made))
          cause.uses.push_back(use);
      Met met;
      for (SlotUse use : cause.uses)
        walk(use.node, value, met);
      size_t numBehind = met.chosen.size();
      walk(producers[value], value, met);
      addPinOfTarget(cause, met.pins);
      auto take = [](const llvm::SetVector<unsigned> &nodes) {
        return nodes.getArrayRef().take_front(mostPins);
      };
      llvm::append_range(cause.pins, take(met.pins));
      llvm::append_range(cause.wholeWeights, take(met.wholeWeights));
      for (unsigned argument : nearestOf(met.chosen.getArrayRef(), numBehind))
        cause.chosen.push_back(
            {argument, chosen(argument).makes.front().placement});
      if (collective.made.from.placement.isPartial() &&
          collective.made.to.placement.isReplicate())
        cause.taken = shardTaken(cause.uses);
    }
    return causes;
  }

private:
  /// Nodes on a walk: `Cause` says which.
  struct Met {
    llvm::SetVector<unsigned> pins, wholeWeights, chosen;
  };

  /// The first of the nodes that are behind a collective and of those that are
  /// before it, in turns.
  static SmallVector<unsigned> nearestOf(ArrayRef<unsigned> nodes,
                                         size_t numBehind) {
    ArrayRef<unsigned> behind = nodes.take_front(numBehind),
                       before = nodes.drop_front(numBehind);
    SmallVector<unsigned> nearest;
    for (size_t i = 0; i < std::max(behind.size(), before.size()); ++i)
      for (ArrayRef<unsigned> side : {before, behind})
        if (i < side.size() && nearest.size() < mostPins)
          nearest.push_back(side[i]);
    return nearest;
  }

  const OpChoice &chosen(unsigned node) const {
    return solved.model.problem.ops[node]
        .choices[solved.solution.choices[node]];
  }

  /// Whether the use takes what the collective makes: that itself, or, of a
  /// whole value, a shard that is not there otherwise.
  bool isServed(SlotUse use, const PlannedCollective &made) const {
    const Placement &need = chosen(use.node).needs[use.slot].state.placement;
    if (need == made.to.placement)
      return true;
    const MaterializedLayouts &materialization =
        solved.solution.materializations[made.value];
    auto isThere = [&](const AxisState &state) {
      return state.placement == need;
    };
    return made.to.placement.isReplicate() && !isThere(materialization.made) &&
           llvm::none_of(materialization.converted, isThere);
  }

  /// A pin that is a reason. Arguments that no entry names are replicated:
  /// of these only weights are reasons (`wholeWeight`).
  bool isReason(const Node &node) const {
    const std::optional<Pin> &pin = node.pins[solved.part];
    return pin &&
           (node.kind != Node::Kind::Argument || !pin->placement.isReplicate());
  }

  /// An argument that no pin but tp itself divides.
  bool isChosen(unsigned number) const {
    const Node &node = graph.nodes[number];
    return node.kind == Node::Kind::Argument && !node.pins[solved.part] &&
           !chosen(number).makes.front().placement.isReplicate();
  }

  /// The shard that all of the uses take, also behind pins, if it is one.
  std::optional<Placement> shardTaken(ArrayRef<SlotUse> uses) const {
    std::optional<Placement> taken;
    SmallVector<SlotUse> queue(uses);
    while (!queue.empty()) {
      SlotUse use = queue.pop_back_val();
      const Node &node = graph.nodes[use.node];
      if (node.kind == Node::Kind::Constrain) {
        for (unsigned value : node.results)
          queue.append(graph.uses[value]);
        continue;
      }
      const Placement &need = chosen(use.node).needs[use.slot].state.placement;
      if (!need.isShard() || (taken && !(*taken == need)))
        return std::nullopt;
      taken = need;
    }
    return taken;
  }

  bool isParameter(const Node &argument) const {
    auto kind = graph.entryOf(argument).getArgAttrOfType<StringAttr>(
        argument.index, attr::kind);
    return !kind || kind.getValue() == "parameter";
  }

  /// The replicated weight that `value` is, or is computed from alone. A
  /// parameter of one dimension (a bias, a norm) is no weight, and a table is
  /// one only for the op at the collective (`isNear`).
  std::optional<unsigned> wholeWeight(unsigned value, bool isNear) const {
    std::optional<unsigned> argument = argumentBehind(graph, producers, value);
    if (!argument)
      return std::nullopt;
    const Node &node = graph.nodes[*argument];
    const std::optional<Pin> &pin = node.pins[solved.part];
    bool isWhole = pin && pin->placement.isReplicate();
    if (!isWhole || graph.type(node.results.front()).getRank() < 2 ||
        !(isNear || isParameter(node)))
      return std::nullopt;
    return argument;
  }

  /// Where no pin met asks for the layout after the change, adds the nearest
  /// one that ops after its uses lead to: they pass on what is not divided.
  void addPinOfTarget(const Cause &cause,
                      llvm::SetVector<unsigned> &pins) const {
    const Placement &target = cause.collective.made.to.placement;
    auto asks = [&](unsigned node) {
      return isReason(graph.nodes[node]) &&
             graph.nodes[node].pins[solved.part]->placement == target;
    };
    if (llvm::any_of(pins, asks))
      return;
    llvm::SetVector<unsigned> queue;
    for (SlotUse use : cause.uses)
      queue.insert(use.node);
    for (size_t i = 0; i < queue.size(); ++i) {
      if (asks(queue[i])) {
        llvm::SetVector<unsigned> all;
        all.insert(queue[i]);
        all.insert_range(pins);
        pins = std::move(all);
        return;
      }
      // What is behind another pin is its business.
      if (isReason(graph.nodes[queue[i]]))
        continue;
      for (unsigned value : graph.nodes[queue[i]].results)
        for (SlotUse use : graph.uses[value])
          queue.insert(use.node);
    }
  }

  /// Adds the pins first met from `start` without crossing `through`, along
  /// values that the part divides, and the arguments that these come from.
  /// `wholeWeights` gets the replicated weights that ops met there read.
  void walk(unsigned start, unsigned through, Met &met) const {
    llvm::SetVector<unsigned> queue;
    queue.insert(start);
    for (size_t i = 0; i < queue.size() && met.pins.size() < mostPins; ++i) {
      const Node &node = graph.nodes[queue[i]];
      if (isReason(node)) {
        met.pins.insert(queue[i]);
        continue;
      }
      if (isChosen(queue[i])) {
        met.chosen.insert(queue[i]);
        continue;
      }
      const OpChoice &choice = chosen(queue[i]);
      for (auto [slot, value] : llvm::enumerate(node.slots)) {
        if (!choice.needs[slot].state.placement.isReplicate()) {
          if (value != through)
            queue.insert(producers[value]);
        } else if (std::optional<unsigned> weight =
                       wholeWeight(value, i == 0)) {
          met.wholeWeights.insert(*weight);
        }
      }
      for (auto [result, value] : llvm::enumerate(node.results)) {
        if (value == through || choice.makes[result].placement.isReplicate())
          continue;
        for (SlotUse use : graph.uses[value])
          if (!chosen(use.node).needs[use.slot].state.placement.isReplicate())
            queue.insert(use.node);
      }
    }
  }

  const AssignmentGraph &graph;
  const PartSolution &solved;
  std::vector<unsigned> producers;
};
} // namespace

/// The bytes of a value in blocks of the layouts before and after `made`:
/// those of its elements and of the padding of uneven dimensions.
static int64_t paddedBytes(const AssignmentGraph &graph, unsigned part,
                           const PlannedCollective &made, int64_t bytes) {
  ArrayRef<int64_t> shape = graph.type(made.value).getShape();
  int64_t padded = bytes;
  auto pad = [&](const Placement &placement) {
    int64_t size = shape[placement.dim];
    int64_t inBlocks =
        graph.parts[part].size *
        Layout{{{graph.parts[part], placement}}}.localSize(placement.dim, size);
    if (inBlocks > size)
      padded =
          size ? padded / size * inBlocks + padded % size * inBlocks / size : 0;
  };
  const Placement &from = made.from.placement, &to = made.to.placement;
  if (from.isShard())
    pad(from);
  if (to.isShard() && !(from.isShard() && from.dim == to.dim))
    pad(to);
  return padded;
}

/// How often a step brings the value into another layout.
static int64_t timesOfValue(const AssignmentGraph &graph, unsigned value) {
  Value of = graph.values[value];
  auto function = of.getParentRegion()->getParentOfType<func::FuncOp>();
  return graph.calls[value] / callsOfEntry(function);
}

std::vector<CostedCollective>
propagate::costedCollectives(const AssignmentGraph &graph,
                             const PartSolution &solved) {
  std::vector<CostedCollective> list;
  const AxisProblem &problem = solved.model.problem;
  int64_t ranks = problem.costs.ranks;
  for (const PlannedCollective &made :
       collectivesOf(problem, solved.solution)) {
    int64_t payload = payloadBytes(
        made.kind,
        paddedBytes(graph, solved.part, made, problem.values[made.value].bytes),
        ranks);
    int64_t bytes = ringBytes(made.kind, payload, ranks);
    list.push_back({solved.part, made, bytes,
                    collectiveTime(bytes, problem.costs.machine),
                    timesOfValue(graph, made.value)});
  }
  return list;
}

std::vector<Cause> propagate::causesOf(const AssignmentGraph &graph,
                                       const PartSolution &solved) {
  return CauseFinder(graph, solved).find();
}

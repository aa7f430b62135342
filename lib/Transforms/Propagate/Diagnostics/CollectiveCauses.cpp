//===- CollectiveCauses.cpp - why a collective is there -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCauses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

static constexpr size_t mostPins = 8;

namespace {
class CauseFinder {
public:
  CauseFinder(const AssignmentGraph &graph, const PartSolution &solved)
      : graph(graph), solved(solved), makers(graph.values.size()) {
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      for (unsigned value : node.results)
        makers[value] = number;
  }

  std::vector<Cause> find() const {
    std::vector<Cause> causes;
    for (const CostedCollective &traffic : costedCollectives(solved)) {
      Cause &cause = causes.emplace_back();
      cause.traffic = traffic;
      unsigned value = traffic.made.value;
      for (SlotUse use : graph.uses[value])
        if (isServed(use, traffic.made))
          cause.uses.push_back(use);
      llvm::SetVector<unsigned> pins;
      for (SlotUse use : cause.uses)
        walk(use.node, value, pins);
      walk(makers[value], value, pins);
      addPinOfTarget(cause, pins);
      for (unsigned pin : pins.getArrayRef().take_front(mostPins))
        cause.pins.push_back(pin);
    }
    return causes;
  }

private:
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

  /// A pin that says something. Arguments that no entry names are replicated,
  /// which is no reason.
  bool isReason(const Node &node) const {
    const std::optional<Pin> &pin = node.pins[solved.part];
    return pin &&
           (node.kind != Node::Kind::Argument || !pin->placement.isReplicate());
  }

  /// Where no pin met asks for the layout after the change, adds the nearest
  /// one that ops after its uses lead to: they pass on what is not divided.
  void addPinOfTarget(const Cause &cause,
                      llvm::SetVector<unsigned> &pins) const {
    const Placement &target = cause.traffic.made.to.placement;
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
  /// values that the part divides.
  void walk(unsigned start, unsigned through,
            llvm::SetVector<unsigned> &pins) const {
    llvm::SetVector<unsigned> queue;
    queue.insert(start);
    for (size_t i = 0; i < queue.size() && pins.size() < mostPins; ++i) {
      const Node &node = graph.nodes[queue[i]];
      if (isReason(node)) {
        pins.insert(queue[i]);
        continue;
      }
      const OpChoice &choice = chosen(queue[i]);
      for (auto [slot, value] : llvm::enumerate(node.slots))
        if (value != through &&
            !choice.needs[slot].state.placement.isReplicate())
          queue.insert(makers[value]);
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
  std::vector<unsigned> makers;
};
} // namespace

std::vector<CostedCollective>
propagate::costedCollectives(const PartSolution &solved) {
  std::vector<CostedCollective> traffic;
  const AxisProblem &problem = solved.model.problem;
  int64_t ranks = problem.costs.ranks;
  for (const PlannedCollective &made :
       collectivesOf(problem, solved.solution)) {
    int64_t payload =
        payloadBytes(made.kind, problem.values[made.value].bytes, ranks);
    int64_t bytes = ringBytes(made.kind, payload, ranks);
    traffic.push_back({solved.part, made, bytes,
                       collectiveTime(bytes, problem.costs.machine)});
  }
  return traffic;
}

std::vector<Cause> propagate::causesOf(const AssignmentGraph &graph,
                                       const PartSolution &solved) {
  return CauseFinder(graph, solved).find();
}

//===- Remarks.cpp - why a layout changes ---------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem/AxisModel.h"
#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
class RemarkWriter {
public:
  RemarkWriter(const AssignmentGraph &graph, unsigned part,
               const AxisModel &model, const AxisSolution &solution)
      : graph(graph), part(part), model(model), solution(solution),
        producers(graph.values.size()), users(graph.values.size()) {
    for (auto [number, node] : llvm::enumerate(graph.nodes)) {
      for (unsigned value : node.results)
        producers[value] = number;
      for (unsigned value : node.slots)
        users[value].push_back(number);
    }
  }
  void run();

private:
  const OpChoice &chosen(unsigned node) const {
    return model.problem.ops[node].choices[solution.choices[node]];
  }
  bool isPinned(unsigned node) const {
    return graph.nodes[node].pins[part].has_value();
  }
  /// The pinned node nearest to `start`, going up and down through values but
  /// not back through `through`.
  std::optional<unsigned> nearestPin(unsigned start, unsigned through) const;
  /// Says once per value and layout what brings it there.
  void explain(unsigned node, unsigned slot);

  const AssignmentGraph &graph;
  unsigned part;
  const AxisModel &model;
  const AxisSolution &solution;
  std::vector<unsigned> producers;
  std::vector<SmallVector<unsigned, 2>> users;
  std::set<std::pair<unsigned, std::string>> said;
};
} // namespace

std::optional<unsigned> RemarkWriter::nearestPin(unsigned start,
                                                 unsigned through) const {
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<unsigned> queue = {start};
  seen[start] = true;
  auto visit = [&](unsigned node) {
    if (!seen[node])
      queue.push_back(node);
    seen[node] = true;
  };
  for (size_t i = 0; i < queue.size(); ++i) {
    const Node &node = graph.nodes[queue[i]];
    // That a weight is replicated is no reason for anything.
    bool isReason = node.kind != Node::Kind::Argument ||
                    !graph.isWeight[node.results.front()] || !node.pins[part] ||
                    !node.pins[part]->placement.isReplicate();
    if (isPinned(queue[i]) && isReason)
      return queue[i];
    for (unsigned value : node.results)
      for (unsigned user : users[value])
        visit(user);
    for (unsigned value : node.slots)
      if (value != through)
        visit(producers[value]);
  }
  return std::nullopt;
}

void RemarkWriter::explain(unsigned number, unsigned slot) {
  const Node &node = graph.nodes[number];
  unsigned value = node.slots[slot];
  const AxisState &need = chosen(number).needs[slot].state;
  const MaterializedLayouts &materialization = solution.materializations[value];
  if (materialization.made.placement == need.placement ||
      !said.insert({value, toString(need.placement)}).second)
    return;
  const AxisValue &axisValue = model.problem.values[value];
  // A copy that is replicated anyway serves all other uses.
  AxisState target = {need.placement};
  const AxisState whole = AxisState::replicate();
  bool isCut = !(target == whole) &&
               llvm::is_contained(materialization.converted, whole);
  Conversion step =
      directConversion(materialization.made, isCut ? whole : target, axisValue,
                       model.problem.costs);
  InFlightDiagnostic remark = mlir::emitRemark(graph.location(node));
  remark << graph.describe(node) << " takes "
         << (node.kind == Node::Kind::Op
                 ? "operand #" + std::to_string(slot) + " "
                 : "its value ")
         << "from " << toString(materialization.made.placement) << " to "
         << toString(need.placement) << " on axis " << graph.partName(part);
  if (isCut) {
    remark << " from the replicated copy";
  } else if (step.collective) {
    int64_t ranks = model.problem.costs.ranks;
    remark << " by " << toString(*step.collective) << ", "
           << ringBytes(*step.collective,
                        payloadBytes(*step.collective, axisValue.bytes, ranks),
                        ranks)
           << " bytes per rank";
  } else {
    remark << " without communication";
  }
  remark.attachNote(graph.values[value].getLoc())
      << "the value is made by "
      << graph.describe(graph.nodes[producers[value]]);
  std::optional<unsigned> user = nearestPin(number, value);
  std::optional<unsigned> producer = nearestPin(producers[value], ~0u);
  for (std::optional<unsigned> pin : {user, producer}) {
    if (!pin)
      continue;
    const Node &pinned = graph.nodes[*pin];
    remark.attachNote(graph.location(pinned))
        << graph.describe(pinned) << " is pinned to "
        << toString(pinned.pins[part]->placement);
    if (user == producer)
      break;
  }
}

void RemarkWriter::run() {
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    for (unsigned slot = 0; slot < node.slots.size(); ++slot)
      explain(number, slot);
}

void propagate::remarkRedistributions(const AssignmentGraph &graph,
                                      unsigned part, const AxisModel &model,
                                      const AxisSolution &solution) {
  RemarkWriter(graph, part, model, solution).run();
}

//===- TiedPorts.cpp - ports with the layout of an argument ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step's results are the next step's arguments. A pin leaves open in
// which chunks a weight is split, and whether it is where heads are fewer than
// ranks: that is decided once for a parameter, its states and what becomes of
// them. An update of another argument (a cache) has the layout of that one. A
// state that is sharded by itself on an axis, as in ZeRO, has the layout of its
// parameter on the others.
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "tp/IR/PortNames.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

static bool asksTheSame(const AssignmentGraph &graph, const Node &a,
                        const Node &b) {
  unsigned first = a.slots.empty() ? a.results.front() : a.slots.front();
  if (graph.type(first).getShape() != graph.type(b.results.front()).getShape())
    return false;
  return llvm::all_of(llvm::seq<size_t>(0, a.pins.size()), [&](size_t axis) {
    // What is free asks for nothing there.
    const std::optional<Pin> &one = a.pins[axis], &other = b.pins[axis];
    return (axis < a.free.size() && a.free[axis]) ||
           (one.has_value() == other.has_value() &&
            (!one || one->placement == other->placement));
  });
}

static void findTiedPorts(AssignmentGraph &graph, unsigned entry) {
  PortNames arguments(graph.entries[entry], PortSide::Argument);
  PortNames results(graph.entries[entry], PortSide::Result);
  llvm::DenseMap<unsigned, unsigned> nodeOfArgument;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.kind == Node::Kind::Argument && node.entry == entry)
      nodeOfArgument[node.index] = number;
  auto parameterOf = [&](unsigned argument) -> std::optional<unsigned> {
    StringRef name = arguments.name(argument);
    ArrayRef<unsigned> found = arguments.find(("parameter:" + name).str());
    if (found.size() != 1 || !nodeOfArgument.contains(found.front()))
      return std::nullopt;
    return nodeOfArgument.lookup(found.front());
  };
  // The parameter of a parameter or state; of another argument itself.
  auto ownerOf = [&](unsigned argument) -> std::optional<unsigned> {
    if (!arguments.isParameterOrState(argument))
      return nodeOfArgument.lookup(argument);
    // A state that is sharded by itself is the owner of what updates it.
    if (auto node = nodeOfArgument.find(argument);
        node != nodeOfArgument.end() &&
        llvm::is_contained(graph.nodes[node->second].free,
                           FreePort::FullySharded))
      return node->second;
    return parameterOf(argument);
  };
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    std::optional<unsigned> owner;
    if (node.entry != entry)
      continue;
    if (node.kind == Node::Kind::Argument &&
        arguments.isOptimizerState(node.index))
      owner = llvm::is_contained(node.free, FreePort::AsParameter)
                  ? parameterOf(node.index)
                  : ownerOf(node.index);
    else if (node.kind == Node::Kind::Result)
      if (std::optional<unsigned> old =
              arguments.updatedBy(results, node.index))
        owner = ownerOf(*old);
    if (owner && *owner != number &&
        asksTheSame(graph, node, graph.nodes[*owner]))
      node.tiedTo = owner;
  }
}

void propagate::findTiedPorts(AssignmentGraph &graph) {
  for (unsigned entry = 0; entry < graph.entries.size(); ++entry)
    ::findTiedPorts(graph, entry);
}

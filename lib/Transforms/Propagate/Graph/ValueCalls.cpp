//===- ValueCalls.cpp - how often values are redistributed ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

void propagate::countCalls(AssignmentGraph &graph) {
  std::vector<InvariantValues> invariant;
  for (func::FuncOp entry : graph.entries)
    invariant.emplace_back(entry);
  std::vector<unsigned> entryOf(graph.values.size());
  for (const Node &node : graph.nodes)
    for (unsigned value : node.results)
      entryOf[value] = node.entry;
  auto isInvariant = [&](unsigned value) {
    return invariant[entryOf[value]].contains(graph.values[value]);
  };
  for (unsigned value = 0; value < graph.values.size(); ++value)
    graph.calls.push_back(isInvariant(value)
                              ? callsOfEntry(graph.entries[entryOf[value]])
                              : graph.entryCalls[entryOf[value]]);
  // Every value comes after those that it is computed from.
  graph.slices.assign(graph.values.size(), 1);
  for (unsigned value = graph.values.size(); value-- > 0;) {
    auto takesSlice = [&](SlotUse use) {
      const Node &user = graph.nodes[use.node];
      return !user.results.empty() &&
             llvm::all_of(user.results, [&](unsigned result) {
               return isInvariant(result)
                          ? graph.slices[result] > 1
                          : isa_and_present<tensor::ExtractSliceOp>(user.op);
             });
    };
    if (isInvariant(value) && !graph.uses[value].empty() &&
        llvm::all_of(graph.uses[value], takesSlice))
      graph.slices[value] = timesOf(graph.entries[entryOf[value]]);
  }
}

//===- DataParallelism.cpp - axes that split nothing but data -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataParallelism.h"

using namespace tp;
using namespace tp::propagate;

bool propagate::isDataParallel(const AssignmentGraph &graph, unsigned part) {
  bool found = false;
  for (const Node &node : graph.nodes) {
    const std::optional<Pin> &pin = node.pins[part];
    if (node.kind != Node::Kind::Argument || !pin || !pin->placement.isShard())
      continue;
    if (graph.isWeight[node.results.front()])
      return false;
    found |= node.isUserInput;
  }
  return found;
}

namespace {
/// Per value: its dimensions of data.
using DataDims = std::vector<llvm::SmallVector<unsigned, 1>>;
using FactorNumbers = llvm::SmallVector<unsigned, 1>;
} // namespace

/// The factor that a shard of the dimension splits, if there is one.
static std::optional<unsigned> majorFactor(const DimFactors &dim) {
  if (dim.empty())
    return std::nullopt;
  return dim.front();
}

/// The factors of an op that run over dimensions of data.
static FactorNumbers takenBy(const Node &node, const DataDims &dims) {
  FactorNumbers taken;
  for (auto [slot, value] : llvm::enumerate(node.slots))
    for (unsigned dim : dims[value])
      if (std::optional<unsigned> factor =
              majorFactor(node.rule.slotFactors[slot][dim]);
          factor && !llvm::is_contained(taken, *factor))
        taken.push_back(*factor);
  return taken;
}

static void noteMade(const Node &node, unsigned dataFactor, DataDims &dims) {
  for (auto [result, value] : llvm::enumerate(node.results))
    for (auto [dim, factors] : llvm::enumerate(node.rule.resultFactors[result]))
      if (majorFactor(factors) == dataFactor)
        dims[value].push_back(dim);
}

std::vector<bool> propagate::dividesData(const AssignmentGraph &graph,
                                         unsigned part) {
  std::vector<bool> found(graph.nodes.size());
  if (!isDataParallel(graph, part))
    return found;
  DataDims dims(graph.values.size());
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    const std::optional<Pin> &pin = node.pins[part];
    if (node.isUserInput && pin && pin->placement.isShard())
      dims[node.results.front()] = {static_cast<unsigned>(pin->placement.dim)};
    if (node.isPort())
      continue;
    FactorNumbers taken = takenBy(node, dims);
    if (taken.size() == 1)
      noteMade(node, taken.front(), dims);
    found[number] = llvm::any_of(taken, [&, &node = node](unsigned factor) {
      return node.rule.factors[factor].unsplittable.empty();
    });
  }
  return found;
}

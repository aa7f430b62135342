//===- Heads.cpp - dimensions of weights that count heads -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

/// The factors of a dimension, without what only packs several weights side by
/// side.
static SmallVector<unsigned> factorsOfDim(const AssignmentGraph &graph,
                                          SlotUse use, int64_t dim) {
  const ShardingRule &rule = graph.nodes[use.node].rule;
  SmallVector<unsigned> factors;
  if (use.slot >= rule.slotFactors.size())
    return factors;
  for (unsigned number : rule.slotFactors[use.slot][dim]) {
    const Factor &factor = rule.factors[number];
    // Of q, k and v side by side nobody holds one alone.
    bool isPacking =
        llvm::any_of(factor.segmentations, [&](ArrayRef<int64_t> segments) {
          return static_cast<int64_t>(segments.size()) == factor.size;
        });
    if (factor.size > 1 && !(factors.empty() && isPacking))
      factors.push_back(number);
  }
  return factors;
}

/// Whether a dimension of the slot has `factor`.
static bool hasFactor(const TensorFactors &dims, unsigned factor) {
  return llvm::any_of(dims, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// Whether the product has `factor` in the weight alone, as columns, or in what
/// is multiplied with it too, as rows; nothing where it is neither.
static std::optional<FactorKind>
sideOfProduct(const ShardingRule &rule, unsigned weight, unsigned factor) {
  if (!rule.factors[factor].unsplittable.empty())
    return std::nullopt;
  bool isElsewhere = false;
  for (unsigned slot = 0; slot < rule.slots.size(); ++slot)
    isElsewhere |= slot != weight && !rule.initOf[slot] &&
                   hasFactor(rule.slotFactors[slot], factor);
  FactorKind kind = rule.factors[factor].kind;
  bool isSide = isElsewhere ? kind == FactorKind::Reduction
                            : kind == FactorKind::Parallel;
  return isSide ? std::optional(kind) : std::nullopt;
}

/// Whether the elements of what dimension `dim` of a weight counts are a later
/// dimension: both are columns of a product, or rows.
static bool isOfHeads(const AssignmentGraph &graph, SlotUse use, int64_t dim) {
  const Node &node = graph.nodes[use.node];
  const ShardingRule &rule = node.rule;
  if (node.kind != Node::Kind::Op || rule.slotFactors[use.slot][dim].empty())
    return false;
  unsigned last = rule.slotFactors[use.slot][dim].back();
  // What is made of weights alone is one.
  for (auto [result, value] : llvm::enumerate(node.results)) {
    if (!graph.isWeight[value])
      continue;
    for (auto [next, factors] : llvm::enumerate(rule.resultFactors[result]))
      if (!factors.empty() && factors.back() == last)
        return llvm::any_of(graph.uses[value], [&, next = next](SlotUse of) {
          return isOfHeads(graph, of, next);
        });
    return false;
  }
  bool isProduct = llvm::count(rule.initOf, std::nullopt) > 1;
  std::optional<FactorKind> side = sideOfProduct(rule, use.slot, last);
  if (!isProduct || !side)
    return false;
  ArrayRef<DimFactors> later =
      ArrayRef(rule.slotFactors[use.slot]).drop_front(dim + 1);
  return llvm::any_of(later, [&](const DimFactors &factors) {
    return llvm::any_of(factors, [&](unsigned factor) {
      return rule.factors[factor].size > 1 &&
             sideOfProduct(rule, use.slot, factor) == side;
    });
  });
}

SmallVector<unsigned> propagate::wholeFactors(const AssignmentGraph &graph,
                                              SlotUse use, int64_t dim) {
  SmallVector<unsigned> whole = factorsOfDim(graph, use, dim);
  if (whole.size() > 1 && !isOfHeads(graph, use, dim))
    whole.pop_back();
  return whole;
}

SmallVector<int64_t> propagate::headFactors(const AssignmentGraph &graph,
                                            SlotUse use, int64_t dim) {
  const ShardingRule &rule = graph.nodes[use.node].rule;
  SmallVector<int64_t> sizes;
  SmallVector<unsigned> factors = factorsOfDim(graph, use, dim);
  if (factors.size() > 1)
    factors.pop_back();
  // One thing per element is no head.
  if (factors.empty() ||
      rule.slotFactors[use.slot][dim].back() == factors.back())
    return sizes;
  for (unsigned factor : factors)
    sizes.push_back(rule.factors[factor].size);
  return sizes;
}

HeadSharing propagate::headSharing(const AssignmentGraph &graph, unsigned value,
                                   int64_t dim, AxisPart part) {
  HeadSharing sharing = HeadSharing::None;
  for (SlotUse use : graph.usesOfTensor(value)) {
    int64_t heads = 1;
    if (isOfHeads(graph, use, dim))
      heads = graph.type(value).getDimSize(dim);
    else
      for (int64_t size : headFactors(graph, use, dim))
        heads *= size;
    if (heads > 1 && part.major % heads == 0)
      return HeadSharing::All;
    if (heads > 1 && heads < part.major * part.size)
      sharing = HeadSharing::Some;
  }
  return sharing;
}

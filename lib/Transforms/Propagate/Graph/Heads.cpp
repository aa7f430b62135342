//===- Heads.cpp - dimensions of weights that count heads -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

SmallVector<unsigned> propagate::factorsOfDim(const AssignmentGraph &graph,
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

namespace {
/// Dimensions of a slot that are one dimension of a weight, major first.
struct DimsOfUse {
  SlotUse use;
  SmallVector<unsigned> dims;
};
} // namespace

/// Whether other dimensions have the elements of what `dims` count: both are
/// columns of a product, or rows.
static bool isOfHeadsIn(const ShardingRule &rule, unsigned weight,
                        ArrayRef<unsigned> dims) {
  const TensorFactors &all = rule.slotFactors[weight];
  std::optional<FactorKind> side =
      sideOfProduct(rule, weight, all[dims.back()].back());
  if (llvm::count(rule.initOf, std::nullopt) < 2 || !side)
    return false;
  for (auto [other, factors] : llvm::enumerate(all))
    for (unsigned factor : factors)
      if (!llvm::is_contained(dims, other) && rule.factors[factor].size > 1 &&
          sideOfProduct(rule, weight, factor) == side)
        return true;
  return false;
}

/// The dimensions of a result that have factors of `dims` of a slot.
static SmallVector<unsigned> dimsOfResult(const ShardingRule &rule,
                                          unsigned slot,
                                          ArrayRef<unsigned> dims,
                                          unsigned result) {
  SmallVector<unsigned> found;
  for (auto [dim, factors] : llvm::enumerate(rule.resultFactors[result]))
    if (llvm::any_of(factors, [&](unsigned factor) {
          return llvm::any_of(dims, [&](unsigned from) {
            return llvm::is_contained(rule.slotFactors[slot][from], factor);
          });
        }))
      found.push_back(dim);
  return found;
}

/// Whether some product that reads the weight, or what is made of weights
/// alone from it, has dimension `dim` as heads.
static bool isOfHeads(const AssignmentGraph &graph, SlotUse use, int64_t dim) {
  std::vector<DimsOfUse> work = {{use, {unsigned(dim)}}};
  // A weight may be read several times on each way.
  llvm::SmallDenseSet<std::pair<unsigned, unsigned>> seen;
  for (size_t next = 0; next < work.size(); ++next) {
    auto [at, dims] = work[next];
    const Node &node = graph.nodes[at.node];
    const ShardingRule &rule = node.rule;
    if (node.kind != Node::Kind::Op || at.slot >= rule.slotFactors.size() ||
        rule.slotFactors[at.slot][dims.back()].empty())
      continue;
    bool isOfWeights = false;
    for (auto [result, value] : llvm::enumerate(node.results)) {
      if (!graph.isWeight[value])
        continue;
      isOfWeights = true;
      SmallVector<unsigned> made = dimsOfResult(rule, at.slot, dims, result);
      if (!made.empty() && seen.insert({value, made.back()}).second)
        for (SlotUse each : graph.uses[value])
          work.push_back({each, made});
    }
    if (!isOfWeights && isOfHeadsIn(rule, at.slot, dims))
      return true;
  }
  return false;
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

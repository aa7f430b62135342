//===- RuleCells.cpp - the cells of a sharding rule -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleCells.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tp;

static bool has(const TensorFactors &dims, unsigned factor) {
  return llvm::any_of(dims, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// The ways in which a strategy that splits `factor` does it.
static std::vector<std::string> waysOf(Operation *op, const ShardingRule &rule,
                                       unsigned factor,
                                       const Strategy &strategy) {
  std::vector<std::string> ways;
  switch (rule.factors[factor].kind) {
  case FactorKind::Parallel:
    ways.push_back("parallel");
    break;
  case FactorKind::Reduction:
    ways.push_back("reduced");
    break;
  case FactorKind::Indexed:
    ways.push_back("indexed");
    break;
  }
  unsigned numOperands = llvm::count_if(op->getOperands(), [](Value operand) {
    return isa<RankedTensorType>(operand.getType());
  });
  bool isIndexed = rule.factors[factor].kind == FactorKind::Indexed;
  bool isBroadcast = false, isCaptured = false, isMinor = false;
  for (auto [slot, dims] : llvm::enumerate(rule.slotFactors)) {
    bool isOperand = slot < numOperands;
    isBroadcast |=
        isOperand && !isIndexed && !rule.initOf[slot] && !has(dims, factor);
    isCaptured |= !isOperand && !isIndexed && has(dims, factor);
  }
  for (const auto *tensors : {&rule.slotFactors, &rule.resultFactors})
    for (const TensorFactors &dims : *tensors)
      for (const DimFactors &dim : dims)
        isMinor |= has({dim}, factor) && dim.front() != factor;
  if (isBroadcast)
    ways.push_back("broadcast");
  if (isCaptured)
    ways.push_back("captured");
  if (isMinor)
    ways.push_back("minor");
  if (!strategy.segmentsOf(factor).empty())
    ways.push_back("packed");
  if (strategy.partsSplitting(factor).size() > 1)
    ways.push_back("nested");
  for (const AxisChoice &other : strategy.entries)
    if (other.choice.kind == ChoiceKind::Split && other.choice.factor != factor)
      ways.push_back("two");
  return ways;
}

static bool isUneven(const ShardingRule &rule, unsigned factor,
                     const Strategy &strategy) {
  int64_t ranks = 1;
  for (AxisPart part : strategy.partsSplitting(factor))
    ranks *= part.size;
  std::vector<int64_t> segments = strategy.segmentsOf(factor);
  if (segments.empty())
    segments = {rule.factors[factor].size};
  return llvm::any_of(segments,
                      [&](int64_t size) { return size % ranks != 0; });
}

RuleCells tp::cellsOf(Operation *op, const ShardingRule &rule,
                      const Strategy &strategy) {
  std::string passed = "none";
  bool anySplit = false, anyUneven = false;
  for (const AxisChoice &entry : strategy.entries) {
    const Choice &choice = entry.choice;
    if (choice.kind == ChoiceKind::Passthrough)
      passed = toString(choice.reduction).str();
    if (choice.kind != ChoiceKind::Split)
      continue;
    anySplit = true;
    anyUneven |= isUneven(rule, choice.factor, strategy);
  }
  RuleCells cells;
  if (!anySplit)
    cells.insert("whole even " + passed);
  for (const AxisChoice &entry : strategy.entries)
    if (entry.choice.kind == ChoiceKind::Split)
      for (const std::string &way :
           waysOf(op, rule, entry.choice.factor, strategy))
        cells.insert(way + (anyUneven ? " uneven " : " even ") + passed);
  return cells;
}

bool tp::isSensible(const ShardingRule &rule, const Strategy &strategy,
                    const Mesh &mesh) {
  if (!rule.whyIllegal(strategy, mesh).empty())
    return false;
  auto isOneKind = [](const Layout &layout) {
    std::optional<ReductionKind> kind;
    for (const AxisPlacement &entry : layout.entries)
      if (entry.placement.isPartial()) {
        if (kind && *kind != entry.placement.reduction)
          return false;
        kind = entry.placement.reduction;
      }
    return true;
  };
  for (unsigned slot = 0; slot < rule.slotFactors.size(); ++slot)
    if (!isOneKind(rule.slotLayout(slot, strategy)))
      return false;
  for (unsigned result = 0; result < rule.resultFactors.size(); ++result)
    if (!isOneKind(rule.resultLayout(result, strategy)))
      return false;
  return true;
}

/// Sizes over which `choice` is split evenly, and unevenly.
static std::vector<int64_t> sizesFor(const ShardingRule &rule,
                                     const Choice &choice) {
  if (choice.kind != ChoiceKind::Split)
    return {2};
  int64_t size = rule.factors[choice.factor].size, divisor = size;
  for (int64_t segment : choice.segments)
    divisor = std::gcd(divisor, segment);
  std::vector<int64_t> sizes = {size + 1};
  for (int64_t n = 2; n <= divisor; ++n)
    if (divisor % n == 0) {
      sizes.push_back(n);
      break;
    }
  return sizes;
}

RuleCells tp::cellsOf(Operation *op, const ShardingRule &rule) {
  std::vector<Choice> choices;
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    if (rule.factors[factor].size < 2)
      continue;
    choices.push_back(Choice::split(factor));
    for (const std::vector<int64_t> &segments :
         rule.factors[factor].segmentations)
      if (llvm::any_of(segments, [](int64_t size) { return size > 1; }))
        choices.push_back(Choice::split(factor, segments));
  }
  for (const PartialPassthrough &pass : rule.passthroughs)
    choices.push_back(Choice::passthrough(
        pass.kind,
        std::vector<unsigned>(pass.slots.begin(), pass.slots.end())));
  for (ReductionKind kind : rule.freePartials)
    choices.push_back(Choice::passthrough(kind, {}));

  RuleCells cells = {"whole even none"};
  auto add = [&](const Mesh &mesh, const Strategy &strategy) {
    if (!isSensible(rule, strategy, mesh))
      return false;
    RuleCells more = cellsOf(op, rule, strategy);
    cells.insert(more.begin(), more.end());
    return true;
  };
  for (const Choice &choice : choices)
    for (int64_t size : sizesFor(rule, choice)) {
      Mesh mesh{{{"a", size}}, {}};
      add(mesh, {{{mesh.wholeAxis(0), choice}}});
    }
  for (const Choice &first : choices)
    for (const Choice &second : choices)
      for (int64_t size : sizesFor(rule, first))
        for (int64_t other : sizesFor(rule, second)) {
          Mesh mesh{{{"a", size}, {"b", other}}, {}};
          add(mesh,
              {{{mesh.wholeAxis(0), first}, {mesh.wholeAxis(1), second}}});
        }
  return cells;
}

//===- ShardingRule.cpp - factors of an op --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/ShardingRule.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Interfaces/LocalOpBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

#include "tp/Interfaces/ShardingRuleInterface.cpp.inc"

SmallVector<Value> tp::slotsOf(Operation *op) {
  SmallVector<Value> slots;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      slots.push_back(operand);
  // The walk is in program order, so that slots have the same numbers on every
  // run and in every copy of the op.
  llvm::SetVector<Value> captured;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value operand : inner->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        captured.insert(operand);
  });
  llvm::append_range(slots, captured);
  return slots;
}

namespace {
/// Where a split of `factor` shards a tensor: no dimension, one dimension, or
/// (an error) somewhere it cannot.
struct FactorPlace {
  std::optional<int64_t> dim;
  bool representable = true;
};

FactorPlace placeOf(const ShardingRule &rule, const TensorFactors &dims,
                    unsigned factor) {
  FactorPlace place;
  for (auto [dim, parts] : llvm::enumerate(dims)) {
    bool behindAnother = false;
    for (unsigned part : parts) {
      if (part == factor) {
        place.representable &= !behindAnother && !place.dim;
        place.dim = dim;
      }
      behindAnother |= rule.factors[part].size != 1;
    }
  }
  return place;
}
} // namespace

std::string ShardingRule::whyIllegal(const Choice &choice, AxisPart part,
                                     const Mesh &mesh) const {
  if (choice.kind == ChoiceKind::Replicate)
    return "";
  if (choice.kind == ChoiceKind::Pass) {
    bool known = llvm::any_of(passes, [&](const PartialPass &pass) {
      return pass.kind == choice.reduction &&
             ArrayRef(pass.slots) == ArrayRef(choice.slots);
    });
    if (known || (choice.slots.empty() &&
                  llvm::is_contained(freePartials, choice.reduction)))
      return "";
    return "partial values of kind " + toString(choice.reduction).str() +
           " cannot pass through these operands";
  }
  if (choice.factor >= factors.size())
    return "the op has no factor " + std::to_string(choice.factor);
  const Factor &factor = factors[choice.factor];
  if (!factor.unsplittable.empty())
    return factor.unsplittable;
  if (!factor.allowsUneven && factor.size % part.size != 0)
    return "factor " + std::to_string(choice.factor) + " of size " +
           std::to_string(factor.size) + " does not divide over the " +
           std::to_string(part.size) + " ranks of axis " + toString(part, mesh);
  for (const TensorFactors &dims :
       llvm::concat<const TensorFactors>(slotFactors, resultFactors))
    if (!placeOf(*this, dims, choice.factor).representable)
      return "factor " + std::to_string(choice.factor) +
             " is not the major part of one dimension of every tensor";
  return "";
}

static Placement placementFor(const ShardingRule &rule,
                              const TensorFactors &dims, unsigned factor) {
  if (std::optional<int64_t> dim = placeOf(rule, dims, factor).dim)
    return Placement::shard(*dim);
  return Placement::replicate();
}

Placement ShardingRule::slotPlacement(unsigned slot,
                                      const Choice &choice) const {
  if (choice.kind == ChoiceKind::Pass && llvm::is_contained(choice.slots, slot))
    return Placement::partial(choice.reduction);
  // An init has its result's type.
  if (std::optional<unsigned> result = initOf[slot])
    return resultPlacement(*result, choice);
  if (choice.kind != ChoiceKind::Split)
    return Placement::replicate();
  return placementFor(*this, slotFactors[slot], choice.factor);
}

Placement ShardingRule::resultPlacement(unsigned result,
                                        const Choice &choice) const {
  switch (choice.kind) {
  case ChoiceKind::Replicate:
    return Placement::replicate();
  case ChoiceKind::Pass:
    for (const PartialPass &pass : passes)
      if (pass.kind == choice.reduction &&
          ArrayRef(pass.slots) == ArrayRef(choice.slots))
        return Placement::partial(pass.resultKind);
    return Placement::partial(choice.reduction);
  case ChoiceKind::Split:
    break;
  }
  const Factor &factor = factors[choice.factor];
  if (factor.kind != FactorKind::Parallel)
    return Placement::partial(factor.combiners[result]);
  return placementFor(*this, resultFactors[result], choice.factor);
}

/// Strategy entries stand in nest order, and so do the layout's.
template <typename PlacementOf>
static Layout layoutFor(const Strategy &strategy, PlacementOf placementOf) {
  Layout layout;
  for (const AxisChoice &entry : strategy.entries)
    layout.entries.push_back({entry.part, placementOf(entry.choice)});
  layout.canonicalize();
  return layout;
}

Layout ShardingRule::slotLayout(unsigned slot, const Strategy &strategy) const {
  return layoutFor(strategy, [&](const Choice &choice) {
    return slotPlacement(slot, choice);
  });
}

Layout ShardingRule::resultLayout(unsigned result,
                                  const Strategy &strategy) const {
  return layoutFor(strategy, [&](const Choice &choice) {
    return resultPlacement(result, choice);
  });
}

SmallVector<Choice> ShardingRule::legalChoices(AxisPart part,
                                               const Mesh &mesh) const {
  SmallVector<Choice> choices = {Choice::replicate()};
  auto add = [&](Choice choice) {
    if (whyIllegal(choice, part, mesh).empty() &&
        !llvm::is_contained(choices, choice))
      choices.push_back(std::move(choice));
  };
  for (unsigned factor = 0; factor < factors.size(); ++factor)
    if (factors[factor].size > 1)
      add(Choice::split(factor));
  for (const PartialPass &pass : passes)
    add(Choice::pass(pass.kind, std::vector<unsigned>(pass.slots.begin(),
                                                      pass.slots.end())));
  for (ReductionKind kind : freePartials)
    add(Choice::pass(kind, {}));
  return choices;
}

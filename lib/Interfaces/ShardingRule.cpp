//===- ShardingRule.cpp - factors of an op --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/ShardingRule.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/IR/OpInputs.h"
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
  // Inputs are in program order, so that slots have the same numbers on every
  // run and in every copy of the op.
  llvm::SetVector<Value> captured;
  for (Value input : llvm::drop_begin(inputsOf(op), op->getNumOperands()))
    if (isa<RankedTensorType>(input.getType()))
      captured.insert(input);
  llvm::append_range(slots, captured);
  return slots;
}

namespace {
/// What a strategy does to one dimension of a tensor. All axis parts that cut a
/// dimension cut it by one placement.
struct DimCut {
  std::optional<Placement> placement;
  /// Not empty: there is no layout that says so.
  std::string why;
};

/// The segments that lie in `window`, or nothing if it begins or ends inside
/// one.
std::optional<std::vector<int64_t>> segmentsWithin(ArrayRef<int64_t> segments,
                                                   const FactorWindow &window) {
  std::vector<int64_t> inside;
  int64_t start = 0;
  for (int64_t segment : segments) {
    int64_t end = start + segment;
    if (start >= window.offset && end <= window.offset + window.size)
      inside.push_back(segment);
    else if (start < window.offset + window.size && end > window.offset)
      return std::nullopt;
    start = end;
  }
  return inside;
}

DimCut cutOf(const ShardingRule &rule, const DimFactors &factors, int64_t dim,
             const Strategy &strategy) {
  // Of the factors in major-to-minor order: the first that is split, the last,
  // and over how many ranks the last one is.
  std::optional<size_t> first, last;
  int64_t count = 1;
  for (const AxisChoice &entry : strategy.entries) {
    if (entry.choice.kind != ChoiceKind::Split)
      continue;
    const auto *found = llvm::find(factors, entry.choice.factor);
    if (found == factors.end())
      continue;
    size_t at = found - factors.begin();
    if (!first)
      first = last = at;
    if (at < *last)
      return {{},
              "factor " + std::to_string(factors[at]) +
                  " is split inside factor " + std::to_string(factors[*last]) +
                  ", which is minor to it"};
    for (size_t major = *last; major < at; ++major) {
      int64_t whole = rule.factors[factors[major]].size;
      if (whole != (major == *last ? count : 1))
        return {{},
                "factor " + std::to_string(factors[at]) +
                    " is split inside factor " +
                    std::to_string(factors[major]) + " of size " +
                    std::to_string(whole) +
                    ", of which a rank may hold several indices"};
    }
    if (at != *last)
      count = 1;
    last = at;
    count *= entry.part.size;
  }
  if (!first)
    return {};
  int64_t majors = 1, minors = 1, within = 1;
  for (auto [at, factor] : llvm::enumerate(factors)) {
    int64_t size = rule.factors[factor].size;
    (at < *first ? majors : at > *last ? minors : within) *= size;
  }
  const std::vector<int64_t> *packed = &strategy.segmentsOf(factors[*first]);
  std::vector<int64_t> inside;
  if (factors.window) {
    std::optional<std::vector<int64_t>> segments =
        segmentsWithin(*packed, *factors.window);
    if (!segments || packed->empty())
      return {{},
              "factor " + std::to_string(factors[*first]) +
                  " is packed, and a slice of it does not begin and end "
                  "between segments"};
    inside = *segments;
    packed = &inside;
    within = factors.window->size;
  } else if (packed->empty()) {
    inside = {within};
    packed = &inside;
  } else if (*first != *last) {
    return {{},
            "factor " + std::to_string(factors[*last]) +
                " is split inside a packed one"};
  }
  // The last factor's chunks decide: the ones before it are cut to single
  // indices.
  int64_t steps =
      within / std::max<int64_t>(1, rule.factors[factors[*last]].size);
  bool isEven = llvm::all_of(*packed, [&](int64_t segment) {
    return (*first == *last ? segment : segment / std::max<int64_t>(1, steps)) %
               count ==
           0;
  });
  Placement placement = Placement::shard(dim, isEven ? 1 : minors);
  if (packed->size() > 1 || majors > 1)
    for (int64_t copy = 0; copy < majors; ++copy)
      for (int64_t segment : *packed)
        placement.segments.push_back(segment * minors);
  return {placement, ""};
}

/// A tensor under a strategy: a placement per entry.
struct TensorCut {
  Layout layout;
  std::string why;
};

TensorCut cutOf(const ShardingRule &rule, const TensorFactors &dims,
                const Strategy &strategy) {
  TensorCut cut;
  for (const AxisChoice &entry : strategy.entries)
    cut.layout.entries.push_back({entry.part, Placement::replicate()});
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    DimCut here = cutOf(rule, factors, dim, strategy);
    if (!here.why.empty())
      cut.why = here.why;
    if (!here.placement)
      continue;
    for (auto [entry, choice] :
         llvm::zip(cut.layout.entries, strategy.entries)) {
      if (choice.choice.kind != ChoiceKind::Split ||
          !llvm::is_contained(factors, choice.choice.factor))
        continue;
      if (entry.placement.isShard())
        cut.why = "factor " + std::to_string(choice.choice.factor) +
                  " is two dimensions of one tensor";
      entry.placement = *here.placement;
    }
  }
  return cut;
}

TensorCut resultCut(const ShardingRule &rule, unsigned result,
                    const Strategy &strategy) {
  TensorCut cut = cutOf(rule, rule.resultFactors[result], strategy);
  for (auto [entry, choice] : llvm::zip(cut.layout.entries, strategy.entries)) {
    const Choice &made = choice.choice;
    if (made.kind == ChoiceKind::Split &&
        rule.factors[made.factor].kind != FactorKind::Parallel)
      entry.placement =
          Placement::partial(rule.factors[made.factor].combiners[result]);
    if (made.kind != ChoiceKind::Passthrough)
      continue;
    entry.placement = Placement::partial(made.reduction);
    for (const PartialPassthrough &pass : rule.passthroughs)
      if (pass.kind == made.reduction &&
          ArrayRef(pass.slots) == ArrayRef(made.slots))
        entry.placement = Placement::partial(pass.resultKind);
  }
  return cut;
}

TensorCut slotCut(const ShardingRule &rule, unsigned slot,
                  const Strategy &strategy) {
  // An init has its result's type.
  TensorCut cut = rule.initOf[slot]
                      ? resultCut(rule, *rule.initOf[slot], strategy)
                      : cutOf(rule, rule.slotFactors[slot], strategy);
  for (auto [entry, choice] : llvm::zip(cut.layout.entries, strategy.entries))
    if (choice.choice.kind == ChoiceKind::Passthrough &&
        llvm::is_contained(choice.choice.slots, slot))
      entry.placement = Placement::partial(choice.choice.reduction);
  return cut;
}

std::string whyNoLayout(const ShardingRule &rule, const Strategy &strategy) {
  for (unsigned slot = 0; slot < rule.slotFactors.size(); ++slot)
    if (std::string why = slotCut(rule, slot, strategy).why; !why.empty())
      return why;
  for (unsigned result = 0; result < rule.resultFactors.size(); ++result)
    if (std::string why = resultCut(rule, result, strategy).why; !why.empty())
      return why;
  return "";
}
} // namespace

static std::string whyNotSegments(const Factor &factor, unsigned number,
                                  ArrayRef<int64_t> segments) {
  int64_t sum = 0;
  bool positive = true;
  for (int64_t segment : segments) {
    positive &= segment > 0;
    sum += positive ? segment : 0;
  }
  if (segments.empty() || (positive && sum == factor.size))
    return "";
  return "segments of factor " + std::to_string(number) +
         " are at least 1 and add up to its size " +
         std::to_string(factor.size);
}

std::string ShardingRule::whyIllegal(const Choice &choice, AxisPart part,
                                     const Mesh &mesh) const {
  if (choice.kind == ChoiceKind::Replicate)
    return "";
  if (choice.kind == ChoiceKind::Passthrough) {
    bool known =
        llvm::any_of(passthroughs, [&](const PartialPassthrough &pass) {
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
  if (std::string why = whyNotSegments(factor, choice.factor, choice.segments);
      !why.empty())
    return why;
  if (!factor.allowsUneven && factor.size % part.size != 0)
    return "factor " + std::to_string(choice.factor) + " of size " +
           std::to_string(factor.size) + " does not divide over the " +
           std::to_string(part.size) + " ranks of axis " + toString(part, mesh);
  return whyNoLayout(*this, {{{part, choice}}});
}

std::string ShardingRule::whyIllegal(const Strategy &strategy,
                                     const Mesh &mesh) const {
  for (const AxisChoice &entry : strategy.entries) {
    if (std::string why = whyIllegal(entry.choice, entry.part, mesh);
        !why.empty())
      return "on axis " + toString(entry.part, mesh) + ": " + why;
    if (entry.choice.kind != ChoiceKind::Split)
      continue;
    const Factor &factor = factors[entry.choice.factor];
    if (entry.choice.segments != strategy.segmentsOf(entry.choice.factor))
      return "factor " + std::to_string(entry.choice.factor) +
             " is split in two sorts of segments";
    int64_t ranks = 1;
    for (AxisPart part : strategy.partsSplitting(entry.choice.factor))
      ranks *= part.size;
    if (!factor.allowsUneven && factor.size % ranks != 0)
      return "factor " + std::to_string(entry.choice.factor) + " of size " +
             std::to_string(factor.size) + " does not divide over " +
             std::to_string(ranks) + " ranks";
  }
  return whyNoLayout(*this, strategy);
}

static std::optional<Placement> placementOn(AxisPart part, TensorCut cut) {
  if (!cut.why.empty())
    return std::nullopt;
  const AxisPlacement *entry = cut.layout.find(part);
  return entry ? std::optional(entry->placement) : std::nullopt;
}

std::optional<Placement> ShardingRule::slotPlacement(unsigned slot,
                                                     const Strategy &strategy,
                                                     AxisPart part) const {
  return placementOn(part, slotCut(*this, slot, strategy));
}

std::optional<Placement> ShardingRule::resultPlacement(unsigned result,
                                                       const Strategy &strategy,
                                                       AxisPart part) const {
  return placementOn(part, resultCut(*this, result, strategy));
}

Layout ShardingRule::slotLayout(unsigned slot, const Strategy &strategy) const {
  Layout layout = slotCut(*this, slot, strategy).layout;
  layout.canonicalize();
  return layout;
}

Layout ShardingRule::resultLayout(unsigned result,
                                  const Strategy &strategy) const {
  Layout layout = resultCut(*this, result, strategy).layout;
  layout.canonicalize();
  return layout;
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
    if (factors[factor].size > 1) {
      add(Choice::split(factor));
      // Of single indices the first rank would hold all.
      for (const std::vector<int64_t> &segments : factors[factor].segmentations)
        if (llvm::any_of(segments, [](int64_t size) { return size > 1; }))
          add(Choice::split(factor, segments));
    }
  for (const PartialPassthrough &pass : passthroughs)
    add(Choice::passthrough(
        pass.kind,
        std::vector<unsigned>(pass.slots.begin(), pass.slots.end())));
  for (ReductionKind kind : freePartials)
    add(Choice::passthrough(kind, {}));
  return choices;
}

//===- AttentionSoftmax.cpp - an attention's weights ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

/// For a reduction over as many elements as there are along the loop `along`,
/// what it reduces there; `joins` is the op that adds one to the others.
const Element *AttentionMatcher::reduced(const Element *element, unsigned along,
                                         Operation *&joins) {
  if (element->kind != Kind::Leaf)
    return nullptr;
  auto op = element->value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumReductionLoops() == 0)
    return nullptr;
  // One loop reduces, and it is the same as `along`.
  Indices loops(op.getNumLoops(), AffineExpr());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [expr, at] : llvm::zip_equal(map.getResults(), element->indices)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || loops[dim.getPosition()])
      return nullptr;
    loops[dim.getPosition()] = at;
  }
  bool found = false;
  for (auto [loop, extent] : llvm::zip_equal(loops, op.getStaticLoopRanges())) {
    if (loop)
      continue;
    if (extent == 1) {
      loop = getAffineConstantExpr(0, op->getContext());
      continue;
    }
    if (found || extent != graph.extent(along))
      return nullptr;
    found = true;
    loop = graph.loop(along);
  }
  const Element *yield = graph.yielded(op, 0, loops);
  if (!found || !yield || yield->kind != Kind::Compute ||
      yield->operands.size() != 2)
    return nullptr;
  joins = yield->op;
  for (unsigned own : {0, 1})
    if (yield->operands[own]->kind == Kind::Accumulator &&
        yield->operands[1 - own]->kind != Kind::Accumulator)
      return yield->operands[1 - own];
  return nullptr;
}

/// The number every element of a reduction starts from.
static std::optional<Attribute> startOf(const Element *reduction) {
  auto op = cast<linalg::LinalgOp>(reduction->value.getDefiningOp());
  std::optional<Splat> splat = splatOf(op.getDpsInitOperand(0)->get());
  if (!splat || !splat->constant)
    return std::nullopt;
  return splat->constant;
}

bool tp::target::startsFrom(const Element *reduction,
                            function_ref<bool(const APFloat &)> fits) {
  std::optional<Attribute> start = startOf(reduction);
  auto number = start ? dyn_cast<FloatAttr>(*start) : FloatAttr();
  return number && fits(number.getValue());
}

/// exp(s - max s) / sum of it, in any of its forms; 0 where all keys are
/// masked.
bool AttentionMatcher::matchWeights(const Element *weights,
                                    const Element *divisor) {
  const Element *condition = nullptr;
  bool zeroWhere = true;
  if (computes<arith::SelectOp>(weights)) {
    auto isZero = [](const Element *element) {
      return constantOf(withoutCasts(element)) == 0.0;
    };
    condition = weights->operands[0];
    zeroWhere = isZero(weights->operands[1]);
    if (zeroWhere == isZero(weights->operands[2]))
      return false;
    weights = withoutCasts(weights->operands[zeroWhere ? 2 : 1]);
    // What is divided later is 0 / 0 there.
    if (divisor)
      return false;
  }
  const Element *exponential = weights;
  if (!divisor && computes<arith::DivFOp>(weights)) {
    exponential = withoutCasts(weights->operands[0]);
    divisor = withoutCasts(weights->operands[1]);
  } else if (!divisor && computes<arith::MulFOp>(weights)) {
    for (unsigned i : {0, 1}) {
      const Element *inverse = withoutCasts(weights->operands[i]);
      if (!computes<arith::DivFOp>(inverse) ||
          constantOf(withoutCasts(inverse->operands[0])) != 1.0)
        continue;
      exponential = withoutCasts(weights->operands[1 - i]);
      divisor = withoutCasts(inverse->operands[1]);
      break;
    }
  }
  if (!divisor || !computes<math::ExpOp>(exponential))
    return false;
  const Element *shifted = withoutCasts(exponential->operands[0]);
  if (!computes<arith::SubFOp>(shifted))
    return false;
  roundsScores = false;
  const Element *scores = withoutRoundings(shifted->operands[0]);
  const Element *largest = withoutCasts(shifted->operands[1]);

  Operation *joins = nullptr;
  const Element *summed = reduced(divisor, form.key, joins);
  if (!summed || !isa<arith::AddFOp>(joins) ||
      withoutCasts(summed) != exponential ||
      !startsFrom(divisor, [](const APFloat &value) { return value.isZero(); }))
    return false;
  const Element *compared = reduced(largest, form.key, joins);
  if (!compared || !isa<arith::MaximumFOp, arith::MaxNumFOp>(joins) ||
      withoutCasts(compared) != scores ||
      !startsFrom(largest, [](const APFloat &value) {
        return value.isNegative() && (value.isInfinity() || value.isLargest());
      }))
    return false;
  if (condition && !matchEmptyRows(condition, zeroWhere, scores))
    return false;
  form.exponential = exponential;
  form.divisor = divisor;
  form.shifted = scores;
  return matchScores(scores, 1.0) && qElement;
}

/// Whether it is s == -inf, or with `false` s != -inf.
bool AttentionMatcher::isMinusInfinity(const Element *element,
                                       const Element *scores) const {
  for (unsigned i : {0, 1}) {
    std::optional<double> number =
        constantOf(withoutCasts(element->operands[1 - i]));
    if (withoutCasts(element->operands[i]) == scores && number &&
        *number == -std::numeric_limits<double>::infinity())
      return true;
  }
  return false;
}

/// Whether a condition holds exactly for queries all of whose scores are -inf
/// (true), exactly for the others (false), or means something else.
std::optional<bool> AttentionMatcher::saysEmpty(const Element *condition,
                                                const Element *scores) {
  if (condition->kind == Kind::Leaf) {
    Operation *joins = nullptr;
    const Element *each = reduced(condition, form.key, joins);
    std::optional<Attribute> start = each ? startOf(condition) : std::nullopt;
    auto number = start ? dyn_cast<IntegerAttr>(*start) : IntegerAttr();
    if (!number || !number.getType().isInteger(1))
      return std::nullopt;
    bool all =
        isa<arith::AndIOp, arith::MulIOp>(joins) || isa<arith::MinUIOp>(joins);
    bool any = isa<arith::OrIOp>(joins) || isa<arith::MaxUIOp>(joins);
    if (all == any || number.getValue().isZero() != any)
      return std::nullopt;
    std::optional<bool> masked = saysEmpty(each, scores);
    // All masked, or any not masked.
    if (!masked || *masked != all)
      return std::nullopt;
    return masked;
  }
  if (computes<arith::CmpFOp>(condition)) {
    auto cmp = cast<arith::CmpFOp>(condition->op);
    Operation *joins = nullptr;
    // The largest score being -inf says the same of all.
    for (unsigned i : {0, 1}) {
      const Element *largest = withoutCasts(condition->operands[i]);
      const Element *compared = reduced(largest, form.key, joins);
      if (compared && isa<arith::MaximumFOp>(joins) &&
          withoutCasts(compared) == scores &&
          startsFrom(largest,
                     [](const APFloat &value) {
                       return value.isNegative() && value.isInfinity();
                     }) &&
          constantOf(withoutCasts(condition->operands[1 - i])) ==
              -std::numeric_limits<double>::infinity() &&
          cmp.getPredicate() == arith::CmpFPredicate::OEQ)
        return true;
    }
    if (!isMinusInfinity(condition, scores))
      return std::nullopt;
    if (cmp.getPredicate() == arith::CmpFPredicate::OEQ)
      return true;
    if (cmp.getPredicate() == arith::CmpFPredicate::UNE)
      return false;
    return std::nullopt;
  }
  auto constantBit = [](const Element *element) -> std::optional<bool> {
    if (element->kind == Kind::Constant)
      if (auto bit = dyn_cast<IntegerAttr>(element->constant))
        return !bit.getValue().isZero();
    return std::nullopt;
  };
  if (computes<arith::XOrIOp>(condition) && condition->type.isInteger(1))
    for (unsigned i : {0, 1})
      if (std::optional<bool> bit = constantBit(condition->operands[i]))
        if (std::optional<bool> other =
                saysEmpty(condition->operands[1 - i], scores))
          return *other != *bit;
  if (computes<arith::CmpIOp>(condition) &&
      condition->operands[0]->type.isInteger(1)) {
    auto predicate = cast<arith::CmpIOp>(condition->op).getPredicate();
    bool isEqual = predicate == arith::CmpIPredicate::eq;
    if (!isEqual && predicate != arith::CmpIPredicate::ne)
      return std::nullopt;
    for (unsigned i : {0, 1})
      if (std::optional<bool> bit = constantBit(condition->operands[i]))
        if (std::optional<bool> other =
                saysEmpty(condition->operands[1 - i], scores))
          return (*other == *bit) == isEqual;
  }
  if (computes<arith::SelectOp>(condition)) {
    std::optional<bool> first = constantBit(condition->operands[1]);
    std::optional<bool> second = constantBit(condition->operands[2]);
    if (first && second && *first != *second)
      if (std::optional<bool> other = saysEmpty(condition->operands[0], scores))
        return *other == *first;
  }
  return std::nullopt;
}

bool AttentionMatcher::matchEmptyRows(const Element *condition, bool zeroWhere,
                                      const Element *scores) {
  std::optional<bool> empty = saysEmpty(condition, scores);
  zeroWithoutKeys = empty && *empty == zeroWhere;
  return zeroWithoutKeys;
}

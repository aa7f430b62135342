//===- ScatterCondition.cpp - where an iteration writes -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterCondition.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::target;

//===----------------------------------------------------------------------===//
// When an iteration writes
//===----------------------------------------------------------------------===//

namespace {
/// Collects the conditions of a yielded value.
class ConditionFinder {
public:
  explicit ConditionFinder(linalg::LinalgOp op) : op(op) {}

  /// Whether `element` is what the reduction has where a condition fails.
  bool keeps(const Element *element);
  SmallVector<const Element *> conditions;

private:
  bool isAccumulator(const Element *element) const {
    return element->kind == Element::Kind::Accumulator;
  }
  void require(const Element *condition);
  bool isNeutral(const Element *element, Operation *combiner) const;
  bool neverNegativeZero() const;
  bool neutralElsewhere(const Element *element, Operation *combiner);

  linalg::LinalgOp op;
};
} // namespace

void ConditionFinder::require(const Element *condition) {
  if (condition->kind == Element::Kind::Compute &&
      isa<arith::AndIOp>(condition->op)) {
    for (const Element *operand : condition->operands)
      require(operand);
    return;
  }
  conditions.push_back(condition);
}

/// A sum that does not begin with -0.0 never becomes it: only -0.0 + -0.0 is.
bool ConditionFinder::neverNegativeZero() const {
  std::optional<Splat> splat = splatOf(op.getDpsInitOperand(0)->get());
  auto begin = splat ? dyn_cast_if_present<FloatAttr>(splat->constant)
                     : FloatAttr();
  return begin && !begin.getValue().isNegZero();
}

bool ConditionFinder::isNeutral(const Element *element,
                                Operation *combiner) const {
  // A wider type has the same zeros and infinities.
  while (element->kind == Element::Kind::Compute &&
         isa<arith::ExtFOp, arith::TruncFOp>(element->op))
    element = element->operands.front();
  if (element->kind != Element::Kind::Constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(element->constant)) {
    APFloat value = number.getValue();
    if (isa<arith::AddFOp>(combiner))
      return value.isNegZero() || (value.isPosZero() && neverNegativeZero());
    if (isa<arith::SubFOp>(combiner))
      return value.isPosZero();
    if (isa<arith::MulFOp>(combiner))
      return value.isExactlyValue(1.0);
    if (isa<arith::MaximumFOp>(combiner))
      return value.isInfinity() && value.isNegative();
    if (isa<arith::MinimumFOp>(combiner))
      return value.isInfinity() && !value.isNegative();
    return false;
  }
  auto number = dyn_cast<IntegerAttr>(element->constant);
  if (!number)
    return false;
  APInt value = number.getValue();
  if (isa<arith::AddIOp, arith::SubIOp, arith::OrIOp, arith::XOrIOp,
          arith::MaxUIOp>(combiner))
    return value.isZero();
  if (isa<arith::MulIOp>(combiner))
    return value.isOne();
  if (isa<arith::AndIOp, arith::MinUIOp>(combiner))
    return value.isAllOnes();
  if (isa<arith::MaxSIOp>(combiner))
    return value.isMinSignedValue();
  return isa<arith::MinSIOp>(combiner) && value.isMaxSignedValue();
}

/// Whether `element` is neutral to `combiner` where a condition fails.
bool ConditionFinder::neutralElsewhere(const Element *element,
                                       Operation *combiner) {
  if (element->kind != Element::Kind::Compute)
    return false;
  if (isa<arith::ExtFOp, arith::TruncFOp>(element->op))
    return neutralElsewhere(element->operands.front(), combiner);
  if (!isa<arith::SelectOp>(element->op) ||
      !isNeutral(element->operands[2], combiner))
    return false;
  require(element->operands[0]);
  neutralElsewhere(element->operands[1], combiner);
  return true;
}

bool ConditionFinder::keeps(const Element *element) {
  if (element->kind != Element::Kind::Compute)
    return false;
  if (isa<arith::SelectOp>(element->op)) {
    if (!isAccumulator(element->operands[2]))
      return false;
    require(element->operands[0]);
    keeps(element->operands[1]);
    return true;
  }
  if (element->operands.size() != 2)
    return false;
  const Element *old = element->operands[0], *update = element->operands[1];
  if (!isAccumulator(old) && element->op->hasTrait<OpTrait::IsCommutative>())
    std::swap(old, update);
  return isAccumulator(old) && neutralElsewhere(update, element->op);
}

SmallVector<const Element *>
tp::target::writeConditions(linalg::LinalgOp op, const Element *yielded) {
  ConditionFinder finder(op);
  if (!yielded || !finder.keeps(yielded))
    return {};
  return finder.conditions;
}

//===----------------------------------------------------------------------===//
// Where it writes
//===----------------------------------------------------------------------===//

static unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

namespace {
/// Takes an integer apart, modulo 2^width.
class LinearSum {
public:
  LinearSum(const ElementGraph &graph, Place &sum) : graph(graph), sum(sum) {}

  void add(const Element *element, int64_t factor);

private:
  void addTerm(const Element *element, int64_t factor) {
    sum.terms.push_back({factor, element});
  }
  bool keepsValue(const Element *element) const;

  const ElementGraph &graph;
  Place &sum;
};
} // namespace

/// Whether to widen `element` is to take its number: an index that is not
/// negative and fits.
bool LinearSum::keepsValue(const Element *element) const {
  unsigned width = widthOf(element->type);
  while (element->kind == Element::Kind::Compute &&
         isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp>(element->op)) {
    element = element->operands.front();
    width = std::min(width, widthOf(element->type));
  }
  if (element->kind != Element::Kind::Index || width < 2)
    return false;
  IndexRange range = rangeOf(element->index, graph.space());
  return range.lo >= 0 &&
         (width >= 64 || range.hi < int64_t(1) << (width - 1));
}

void LinearSum::add(const Element *element, int64_t factor) {
  switch (element->kind) {
  case Element::Kind::Constant:
    if (auto number = dyn_cast<IntegerAttr>(element->constant)) {
      sum.constant += factor * number.getValue().sextOrTrunc(64).getSExtValue();
      return;
    }
    break;
  case Element::Kind::Index:
    if (auto form = linearForm(element->index, graph.numLoops(), 0)) {
      sum.constant += factor * form->constant;
      for (auto [mine, stride] : llvm::zip_equal(sum.factors, form->dimStrides))
        mine += factor * stride;
      return;
    }
    break;
  case Element::Kind::Compute: {
    ArrayRef<const Element *> operands = element->operands;
    if (isa<arith::AddIOp, arith::SubIOp>(element->op)) {
      add(operands[0], factor);
      add(operands[1], isa<arith::SubIOp>(element->op) ? -factor : factor);
      return;
    }
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(element->op) &&
        (widthOf(element->type) <= widthOf(operands[0]->type) ||
         keepsValue(operands[0]))) {
      add(operands[0], factor);
      return;
    }
    break;
  }
  default:
    break;
  }
  addTerm(element, factor);
}

bool tp::target::dependsOnAccumulator(const Element *element) {
  llvm::DenseSet<const Element *> seen;
  SmallVector<const Element *> work = {element};
  while (!work.empty()) {
    const Element *next = work.pop_back_val();
    if (next->kind == Element::Kind::Accumulator)
      return true;
    if (seen.insert(next).second)
      llvm::append_range(work, next->operands);
  }
  return false;
}

std::optional<Place> tp::target::solveFor(const Element *condition,
                                          unsigned loop,
                                          const ElementGraph &graph) {
  if (condition->kind != Element::Kind::Compute)
    return std::nullopt;
  auto compare = dyn_cast<arith::CmpIOp>(condition->op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !compare.getLhs().getType().isIntOrIndex())
    return std::nullopt;
  Place place;
  place.loop = loop;
  place.width = widthOf(compare.getLhs().getType());
  place.factors.assign(graph.numLoops(), 0);
  // All places of the loop differ modulo 2^width.
  if (place.width < 8 ||
      (place.width < 63 && graph.extent(loop) > int64_t(1) << place.width))
    return std::nullopt;
  LinearSum sum(graph, place);
  sum.add(condition->operands[0], 1);
  sum.add(condition->operands[1], -1);
  int64_t own = place.factors[loop];
  if (own != 1 && own != -1)
    return std::nullopt;
  // own * loop + rest = 0
  place.factors[loop] = 0;
  if (llvm::any_of(place.terms, [](const auto &term) {
        return dependsOnAccumulator(term.second);
      }))
    return std::nullopt;
  place.constant *= -own;
  for (auto [number, factor] : llvm::enumerate(place.factors)) {
    factor *= -own;
    if (factor != 0)
      place.loops |= uint64_t(1) << number;
  }
  for (auto &[factor, element] : place.terms) {
    factor *= -own;
    place.loops |= element->loops;
  }
  if (place.loops >> loop & 1)
    return std::nullopt;
  return place;
}

Value tp::target::integerOf(OpBuilder &builder, Location loc, Value value,
                            IntegerType type) {
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  if (value.getType() == type)
    return value;
  return arith::TruncIOp::create(builder, loc, type, value);
}

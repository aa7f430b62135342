//===- BodyLinearity.cpp - partial values through a scalar body -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/BodyLinearity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tp;

/// Infinity, or the largest number of a format that has none.
static APFloat extreme(const llvm::fltSemantics &semantics, bool isNegative) {
  return APFloat::semanticsHasInf(semantics)
             ? APFloat::getInf(semantics, isNegative)
             : APFloat::getLargest(semantics, isNegative);
}

TypedAttr tp::identityOf(ReductionKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    switch (kind) {
    case ReductionKind::Sum:
      // -0.0 + x is x for both zeros; 0.0 + -0.0 is 0.0. A format without a
      // negative zero gets its only one.
      return FloatAttr::get(type,
                            APFloat::getZero(semantics, /*Negative=*/true));
    case ReductionKind::Product:
      return FloatAttr::get(type, APFloat::getOne(semantics));
    case ReductionKind::Max:
      return FloatAttr::get(type, extreme(semantics, /*isNegative=*/true));
    case ReductionKind::Min:
      return FloatAttr::get(type, extreme(semantics, /*isNegative=*/false));
    case ReductionKind::Avg:
      return {};
    }
  }
  if (!type.isIntOrIndex())
    return {};
  unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                  : type.getIntOrFloatBitWidth();
  bool isBool = width == 1;
  switch (kind) {
  case ReductionKind::Sum:
    return isBool ? IntegerAttr() : IntegerAttr::get(type, APInt(width, 0));
  case ReductionKind::Product:
    return isBool ? IntegerAttr() : IntegerAttr::get(type, APInt(width, 1));
  case ReductionKind::Max:
    return IntegerAttr::get(type, isBool ? APInt(1, 0)
                                         : APInt::getSignedMinValue(width));
  case ReductionKind::Min:
    return IntegerAttr::get(type, isBool ? APInt(1, 1)
                                         : APInt::getSignedMaxValue(width));
  case ReductionKind::Avg:
    return {};
  }
  llvm_unreachable("unknown reduction kind");
}

bool tp::isIdentityConstant(Attribute value, ReductionKind kind) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  auto typed = dyn_cast_or_null<TypedAttr>(value);
  if (!typed || !isa<FloatAttr, IntegerAttr>(value))
    return false;
  if (kind == ReductionKind::Avg)
    return isa<FloatAttr>(value);
  TypedAttr identity = identityOf(kind, typed.getType());
  if (!identity)
    return false;
  // Every rank adds or writes the constant. 0.0 + 0.0 is 0.0, so a constant of
  // either sign is its own sum.
  if (auto number = dyn_cast<FloatAttr>(value);
      number && kind == ReductionKind::Sum)
    return number.getValue().isZero();
  return identity == typed;
}

bool tp::isIdentityConstant(Value value, ReductionKind kind) {
  Attribute constant;
  return matchPattern(value, m_Constant(&constant)) &&
         isIdentityConstant(constant, kind);
}

std::optional<ReductionKind> tp::reductionKindOf(Operation *combiner) {
  bool isBool = combiner->getNumResults() == 1 &&
                combiner->getResult(0).getType().isInteger(1);
  if (isa<arith::AddFOp>(combiner) || (isa<arith::AddIOp>(combiner) && !isBool))
    return ReductionKind::Sum;
  if (isa<arith::MulFOp>(combiner) || (isa<arith::MulIOp>(combiner) && !isBool))
    return ReductionKind::Product;
  if (isa<arith::MaximumFOp>(combiner) ||
      (isa<arith::MaxSIOp>(combiner) && !isBool) ||
      (isa<arith::OrIOp>(combiner) && isBool))
    return ReductionKind::Max;
  if (isa<arith::MinimumFOp>(combiner) ||
      (isa<arith::MinSIOp>(combiner) && !isBool) ||
      (isa<arith::AndIOp>(combiner) && isBool))
    return ReductionKind::Min;
  return std::nullopt;
}

namespace {
/// What a scalar of the body is over ranks.
struct Scalar {
  enum Kind { Same, Partial, Unknown } kind = Same;
  ReductionKind reduction = ReductionKind::Sum;

  static Scalar partial(ReductionKind reduction) {
    return {Partial, reduction};
  }
  static Scalar unknown() { return {Unknown, ReductionKind::Sum}; }
  bool isSame() const { return kind == Same; }
  bool isPartial() const { return kind == Partial; }
};

class BodyAnalysis {
public:
  BodyAnalysis(llvm::function_ref<bool(Value)> isPartial, ReductionKind kind)
      : isPartial(isPartial), kind(kind) {}

  Scalar classify(Value value) {
    auto it = known.find(value);
    if (it != known.end())
      return it->second;
    return isPartial(value) ? Scalar::partial(kind) : Scalar();
  }

  void visit(Operation *op) {
    Scalar scalar = classifyOp(op);
    for (Value result : op->getResults()) {
      // A read of a partial table at an index that is partial itself would
      // read other elements on every rank.
      bool isRead = scalar.isSame() && isPartial(result);
      known[result] = isRead ? Scalar::partial(kind) : scalar;
    }
  }

private:
  /// Both operands partial of the same kind, or one of them its identity.
  Scalar both(Value x, Value y) {
    Scalar a = classify(x), b = classify(y);
    if (a.isPartial() && b.isPartial() && a.reduction == b.reduction)
      return a;
    if (a.isPartial() && isIdentityConstant(y, a.reduction))
      return a;
    if (b.isPartial() && isIdentityConstant(x, b.reduction))
      return b;
    return Scalar::unknown();
  }
  Scalar both(Operation *op) {
    return both(op->getOperand(0), op->getOperand(1));
  }

  static bool isIn(Scalar scalar, std::initializer_list<ReductionKind> kinds) {
    return scalar.isPartial() && llvm::is_contained(kinds, scalar.reduction);
  }

  Scalar classifyAdditive(Operation *op, bool isSubtraction) {
    using enum ReductionKind;
    Scalar a = classify(op->getOperand(0)), b = classify(op->getOperand(1));
    if (a.isPartial() && b.isPartial())
      return isIn(a, {Sum, Avg}) ? both(op) : Scalar::unknown();
    Scalar one = a.isPartial() ? a : b;
    if (isIn(one, {Avg}))
      return one;
    // The order of what rounds and does not wrap is kept by adding one number.
    if (isIn(one, {Max, Min}) && isOrderedByRounding(op) &&
        !makesInfinity(op, op->getOperand(a.isPartial() ? 1 : 0)))
      return a.isPartial() || !isSubtraction ? one : turned(one);
    if (isIn(one, {Sum}) && (a.isPartial() || !isSubtraction))
      return both(op);
    return Scalar::unknown();
  }

  Scalar classifyProduct(Operation *op) {
    using enum ReductionKind;
    Scalar a = classify(op->getOperand(0)), b = classify(op->getOperand(1));
    if (a.isPartial() && b.isPartial())
      return isIn(a, {Product}) ? both(op) : Scalar::unknown();
    Scalar one = a.isPartial() ? a : b;
    Value factor = op->getOperand(a.isPartial() ? 1 : 0);
    if (isIn(one, {Sum, Avg}))
      return makesInfinity(op, factor) ? Scalar::unknown() : one;
    if (isIn(one, {Max, Min}))
      return scaled(op, one, factor);
    return isIn(one, {Product}) ? both(op) : Scalar::unknown();
  }

  /// True if `operand`, the addend, factor or divisor, is a constant that makes
  /// infinities of finite numbers: infinities of two signs have no sum, and the
  /// result for an identity may be NaN.
  static bool makesInfinity(Operation *op, Value operand) {
    FloatAttr number;
    if (!matchPattern(operand, m_Constant(&number)))
      return false;
    return isa<arith::DivFOp>(op) ? !number.getValue().isNonZero()
                                  : !number.getValue().isFinite();
  }

  /// A maximum or minimum that is multiplied with or divided by `factor`.
  static Scalar scaled(Operation *op, Scalar one, Value factor) {
    // Infinity times 0 is NaN on a rank whose part is not the maximum.
    FloatAttr number;
    if (!matchPattern(factor, m_Constant(&number)) ||
        !number.getValue().isFiniteNonZero() || !isOrderedByRounding(op))
      return Scalar::unknown();
    return number.getValue().isNegative() ? turned(one) : one;
  }

  /// The order is turned around: a maximum becomes a minimum.
  static Scalar turned(Scalar one) {
    return Scalar::partial(one.reduction == ReductionKind::Max
                               ? ReductionKind::Min
                               : ReductionKind::Max);
  }

  /// Rounding keeps the order of floats. In a format without infinity what
  /// overflows is NaN, on a rank whose part is not the maximum too.
  static bool isOrderedByRounding(Operation *op) {
    auto type = dyn_cast<FloatType>(op->getResult(0).getType());
    return type && APFloat::semanticsHasInf(type.getFloatSemantics());
  }

  Scalar classifyExtremum(Operation *op, ReductionKind extremum) {
    Scalar a = classify(op->getOperand(0)), b = classify(op->getOperand(1));
    if (a.isPartial() && b.isPartial())
      return isIn(a, {extremum}) ? both(op) : Scalar::unknown();
    // The larger of one number and the least of many is the least of all that
    // are the larger of it and one of them.
    Scalar one = a.isPartial() ? a : b;
    return isIn(one, {ReductionKind::Max, ReductionKind::Min})
               ? one
               : Scalar::unknown();
  }

  Scalar classifyOp(Operation *op) {
    using enum ReductionKind;
    bool anyPartial = false;
    for (Value operand : op->getOperands()) {
      Scalar scalar = classify(operand);
      if (scalar.kind == Scalar::Unknown)
        return scalar;
      anyPartial |= scalar.isPartial();
    }
    if (!anyPartial)
      return op->getNumRegions() == 0 ? Scalar() : Scalar::unknown();
    // Integers wrap, and their average is cut: neither commutes with dividing.
    if (kind == Avg && !isa<arith::SelectOp>(op) &&
        !isa<FloatType>(op->getResult(0).getType()))
      return Scalar::unknown();

    if (isa<arith::AddFOp, arith::AddIOp>(op))
      return classifyAdditive(op, /*isSubtraction=*/false);
    if (isa<arith::SubFOp, arith::SubIOp>(op))
      return classifyAdditive(op, /*isSubtraction=*/true);
    if (isa<arith::MulFOp, arith::MulIOp>(op))
      return classifyProduct(op);
    if (isa<arith::DivFOp>(op)) {
      Scalar a = classify(op->getOperand(0)), b = classify(op->getOperand(1));
      if (isIn(a, {Product}) && isIn(b, {Product}))
        return a;
      if (!b.isSame())
        return Scalar::unknown();
      if (isIn(a, {Max, Min}))
        return scaled(op, a, op->getOperand(1));
      return isIn(a, {Sum, Avg}) && !makesInfinity(op, op->getOperand(1))
                 ? a
                 : Scalar::unknown();
    }
    if (isa<arith::NegFOp>(op)) {
      Scalar a = classify(op->getOperand(0));
      if (isIn(a, {Sum, Avg}))
        return a;
      return isIn(a, {Max, Min}) ? turned(a) : Scalar::unknown();
    }
    if (isa<arith::ExtFOp>(op)) {
      Scalar a = classify(op->getOperand(0));
      return isIn(a, {Product}) ? Scalar::unknown() : a;
    }
    if (isa<arith::TruncFOp>(op)) {
      // Rounding is monotone; under a sum every rank rounds its own part.
      // Floats of eight bits would lose most of it, and some have no infinity
      // for a part that does not fit.
      Scalar a = classify(op->getOperand(0));
      if (op->getResult(0).getType().getIntOrFloatBitWidth() < 16)
        return Scalar::unknown();
      return isIn(a, {Product}) ? Scalar::unknown() : a;
    }
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return classify(select.getCondition()).isSame()
                 ? both(select.getTrueValue(), select.getFalseValue())
                 : Scalar::unknown();
    if (std::optional<ReductionKind> extremum = reductionKindOf(op);
        extremum && (*extremum == Max || *extremum == Min))
      return classifyExtremum(op, *extremum);
    return Scalar::unknown();
  }

  llvm::function_ref<bool(Value)> isPartial;
  ReductionKind kind;
  llvm::DenseMap<Value, Scalar> known;
};
} // namespace

std::optional<ReductionKind>
tp::partialThroughBody(Block &body, ReductionKind kind,
                       llvm::function_ref<bool(Value)> isPartial) {
  BodyAnalysis analysis(isPartial, kind);
  for (Operation &op : body.without_terminator())
    analysis.visit(&op);
  std::optional<ReductionKind> result;
  for (Value yielded : body.getTerminator()->getOperands()) {
    Scalar scalar = analysis.classify(yielded);
    if (!scalar.isPartial() || (result && *result != scalar.reduction))
      return std::nullopt;
    result = scalar.reduction;
  }
  return result;
}

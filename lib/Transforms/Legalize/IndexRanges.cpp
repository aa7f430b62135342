//===- IndexRanges.cpp - what a number in a loop can be -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop's index lies between 0 and the loop's extent. A condition that holds
// in all iterations, or in none, needs no selection, and what only the other
// side reads is not read.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using legalize::IndexRange;

static std::optional<IndexRange> below(int64_t extent) {
  if (ShapedType::isDynamic(extent) || extent <= 0)
    return std::nullopt;
  return IndexRange{0, extent - 1};
}

/// The range of an index that a region gets from the op around it.
static std::optional<IndexRange> rangeOf(BlockArgument argument) {
  auto generate =
      dyn_cast_or_null<tensor::GenerateOp>(argument.getOwner()->getParentOp());
  if (!generate)
    return std::nullopt;
  return below(generate.getType().getDimSize(argument.getArgNumber()));
}

static std::optional<IndexRange> added(IndexRange a, IndexRange b) {
  IndexRange sum;
  if (__builtin_add_overflow(a.least, b.least, &sum.least) ||
      __builtin_add_overflow(a.most, b.most, &sum.most))
    return std::nullopt;
  return sum;
}

static std::optional<IndexRange> multiplied(IndexRange a, IndexRange b) {
  int64_t products[4];
  if (__builtin_mul_overflow(a.least, b.least, &products[0]) ||
      __builtin_mul_overflow(a.least, b.most, &products[1]) ||
      __builtin_mul_overflow(a.most, b.least, &products[2]) ||
      __builtin_mul_overflow(a.most, b.most, &products[3]))
    return std::nullopt;
  return IndexRange{*llvm::min_element(products), *llvm::max_element(products)};
}

static IndexRange larger(IndexRange a, IndexRange b) {
  return {std::max(a.least, b.least), std::max(a.most, b.most)};
}

static IndexRange smaller(IndexRange a, IndexRange b) {
  return {std::min(a.least, b.least), std::min(a.most, b.most)};
}

/// The range if numbers of `type` hold it: what is outside wraps.
static std::optional<IndexRange> within(std::optional<IndexRange> range,
                                        Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (!range || width > 64 || !llvm::isIntN(width, range->least) ||
      !llvm::isIntN(width, range->most))
    return std::nullopt;
  return range;
}

/// All numbers of the type, whose width is at most 64.
static IndexRange allOf(Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

namespace {
/// Finds the range of one value. Each value that it depends on is looked at
/// once, and at most `mostValues` of them: a chain of ops that read a value
/// twice takes neither time nor stack.
class RangeFinder {
public:
  std::optional<IndexRange> find(Value value) {
    if (auto known = ranges.find(value); known != ranges.end())
      return known->second;
    if (ranges.size() == mostValues)
      return std::nullopt;
    ranges.insert({value, std::nullopt});
    std::optional<IndexRange> range = compute(value);
    ranges[value] = range;
    return range;
  }

private:
  static constexpr unsigned mostValues = 256;
  std::optional<IndexRange> compute(Value value);
  llvm::DenseMap<Value, std::optional<IndexRange>> ranges;
};
} // namespace

std::optional<IndexRange> RangeFinder::compute(Value value) {
  APInt constant;
  if (!value.getType().isIntOrIndex())
    return std::nullopt;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (!constant.isSignedIntN(64))
      return std::nullopt;
    return IndexRange{constant.getSExtValue(), constant.getSExtValue()};
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return rangeOf(argument);
  auto both = [&](Operation *op, auto combine) -> std::optional<IndexRange> {
    std::optional<IndexRange> a = find(op->getOperand(0));
    std::optional<IndexRange> b = find(op->getOperand(1));
    return a && b ? within(combine(*a, *b), value.getType()) : std::nullopt;
  };
  auto clamped = [&](Operation *op, auto combine) -> std::optional<IndexRange> {
    std::optional<IndexRange> a = find(op->getOperand(0));
    std::optional<IndexRange> b = find(op->getOperand(1));
    Type type = value.getType();
    if ((!a && !b) || (!type.isIndex() && type.getIntOrFloatBitWidth() > 64))
      return std::nullopt;
    IndexRange all = allOf(type);
    return combine(a.value_or(all), b.value_or(all));
  };
  return llvm::TypeSwitch<Operation *, std::optional<IndexRange>>(
             value.getDefiningOp())
      .Case([&](linalg::IndexOp op) {
        auto loops = cast<linalg::LinalgOp>(op->getParentOp());
        return below(loops.getStaticLoopRanges()[op.getDim()]);
      })
      .Case([&](arith::IndexCastOp op) {
        return within(find(op.getIn()), value.getType());
      })
      .Case([&](arith::AddIOp op) { return both(op, added); })
      .Case([&](arith::SubIOp op) {
        return both(op, [](IndexRange a, IndexRange b) {
          std::optional<IndexRange> minus = multiplied(b, {-1, -1});
          return minus ? added(a, *minus) : std::nullopt;
        });
      })
      .Case([&](arith::MulIOp op) { return both(op, multiplied); })
      // One side alone bounds what is clamped.
      .Case([&](arith::MaxSIOp op) { return clamped(op, larger); })
      .Case([&](arith::MinSIOp op) { return clamped(op, smaller); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<IndexRange> legalize::indexRange(Value value) {
  return RangeFinder().find(value);
}

/// Whether every number of `a` is below every one of `b` (`orEqual`: or equal),
/// or none is.
static std::optional<bool> isBelow(IndexRange a, IndexRange b, bool orEqual) {
  if (orEqual ? a.most <= b.least : a.most < b.least)
    return true;
  if (orEqual ? a.least > b.most : a.least >= b.most)
    return false;
  return std::nullopt;
}

static std::optional<bool> isEqual(IndexRange a, IndexRange b) {
  if (a.most < b.least || b.most < a.least)
    return false;
  if (a.least == a.most && b.least == b.most && a.least == b.least)
    return true;
  return std::nullopt;
}

std::optional<bool> legalize::knownCondition(Value condition) {
  APInt constant;
  if (matchPattern(condition, m_ConstantInt(&constant)))
    return !constant.isZero();
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  std::optional<IndexRange> a = indexRange(compare.getLhs());
  std::optional<IndexRange> b = indexRange(compare.getRhs());
  if (!a || !b)
    return std::nullopt;
  // Of numbers that are not negative both orders are one.
  bool hasOneOrder = a->least >= 0 && b->least >= 0;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return isEqual(*a, *b);
  case arith::CmpIPredicate::ne: {
    std::optional<bool> equal = isEqual(*a, *b);
    return equal ? std::optional<bool>(!*equal) : std::nullopt;
  }
  case arith::CmpIPredicate::slt:
    return isBelow(*a, *b, /*orEqual=*/false);
  case arith::CmpIPredicate::sle:
    return isBelow(*a, *b, /*orEqual=*/true);
  case arith::CmpIPredicate::sgt:
    return isBelow(*b, *a, /*orEqual=*/false);
  case arith::CmpIPredicate::sge:
    return isBelow(*b, *a, /*orEqual=*/true);
  case arith::CmpIPredicate::ult:
    return hasOneOrder ? isBelow(*a, *b, false) : std::nullopt;
  case arith::CmpIPredicate::ule:
    return hasOneOrder ? isBelow(*a, *b, true) : std::nullopt;
  case arith::CmpIPredicate::ugt:
    return hasOneOrder ? isBelow(*b, *a, false) : std::nullopt;
  case arith::CmpIPredicate::uge:
    return hasOneOrder ? isBelow(*b, *a, true) : std::nullopt;
  }
  llvm_unreachable("unknown predicate");
}

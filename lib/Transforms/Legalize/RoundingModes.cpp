//===- RoundingModes.cpp - directed roundings by the nearest one ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No processor rounds to all types in all modes, and LLVM takes a mode as a
// promise about the machine's state. So a value is rounded to nearest, and
// moved to its neighbour where the mode says so: what is right for the nearest
// rounding is right for all of them, in every stage and on every target.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"

using namespace mlir;
using namespace tp;

namespace {
class TruncationRounder {
public:
  TruncationRounder(OpBuilder &builder, arith::TruncFOp op)
      : builder(builder), loc(op.getLoc()), x(op.getIn()),
        wide(cast<FloatType>(x.getType())),
        narrow(cast<FloatType>(op.getType())),
        bitsType(builder.getIntegerType(narrow.getWidth())) {}

  Value round(arith::RoundingMode mode);

private:
  template <typename OpTy> Value op(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate kind, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, kind, a, b);
  }
  Value integer(uint64_t value) {
    APInt bits(narrow.getWidth(), value, /*isSigned=*/false,
               /*implicitTrunc=*/true);
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(bitsType, bits));
  }
  Value real(APFloat value) {
    bool loses = false;
    value.convert(wide.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &loses);
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(wide, value));
  }
  Value magnitude(Value value) {
    return math::AbsFOp::create(builder, loc, value);
  }
  Value widened(Value bits) {
    Value value = arith::BitcastOp::create(builder, loc, narrow, bits);
    return arith::ExtFOp::create(builder, loc, wide, value);
  }
  Value isTie(Value bits, Value nearest, Value shrank);
  Value neighbour(Value bits, Value step);

  OpBuilder &builder;
  Location loc;
  Value x;
  FloatType wide, narrow;
  IntegerType bitsType;
};
} // namespace

/// Whether `x` is in the middle of the number that it was rounded down to, in
/// magnitude, and the one above. Both differences are exact.
Value TruncationRounder::isTie(Value bits, Value nearest, Value shrank) {
  Value above = magnitude(widened(op<arith::AddIOp>(bits, integer(1))));
  Value tie =
      compare(arith::CmpFPredicate::OEQ, op<arith::SubFOp>(above, magnitude(x)),
              op<arith::SubFOp>(magnitude(x), magnitude(nearest)));
  // Above the largest number there may be none.
  APFloat largest = APFloat::getLargest(narrow.getFloatSemantics());
  APFloat below = largest;
  below.next(/*nextDown=*/true);
  APFloat middle(largest.convertToDouble() +
                 (largest.convertToDouble() - below.convertToDouble()) / 2);
  Value top = compare(arith::CmpFPredicate::OEQ, magnitude(x), real(middle));
  return op<arith::AndIOp>(op<arith::OrIOp>(tie, top), shrank);
}

/// The bits plus `step`: the next number, away from zero or towards it.
Value TruncationRounder::neighbour(Value bits, Value step) {
  const llvm::fltSemantics &format = narrow.getFloatSemantics();
  if (APFloat::getZero(format, /*Negative=*/true).isNegative())
    return op<arith::AddIOp>(bits, step);
  // The bits of -0 are NaN's: neither a zero nor an overflow has a sign.
  Value moved = op<arith::AddIOp>(op<arith::AndIOp>(bits, integer(0x7f)), step);
  Value code = op<arith::AndIOp>(moved, integer(0x7f));
  Value zero = real(APFloat::getZero(format));
  Value sign = select(compare(arith::CmpFPredicate::OLT, x, zero),
                      integer(0x80), integer(0));
  Value hasNoSign = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, code, integer(0));
  return select(hasNoSign, moved, op<arith::OrIOp>(code, sign));
}

Value TruncationRounder::round(arith::RoundingMode mode) {
  Value rounded = arith::TruncFOp::create(builder, loc, narrow, x);
  if (mode == arith::RoundingMode::to_nearest_even)
    return rounded;
  Value bits = arith::BitcastOp::create(builder, loc, bitsType, rounded);
  Value nearest = arith::ExtFOp::create(builder, loc, wide, rounded);
  Value shrank =
      compare(arith::CmpFPredicate::OLT, magnitude(nearest), magnitude(x));
  Value grew =
      compare(arith::CmpFPredicate::OGT, magnitude(nearest), magnitude(x));
  // Formats without infinities overflow to NaN.
  Value isFinite = compare(arith::CmpFPredicate::OLT, magnitude(x),
                           real(APFloat::getInf(wide.getFloatSemantics())));
  grew = op<arith::OrIOp>(
      grew, op<arith::AndIOp>(isFinite, compare(arith::CmpFPredicate::UNO,
                                                nearest, nearest)));
  Value isNegative = compare(arith::CmpFPredicate::OLT, x,
                             real(APFloat::getZero(wide.getFloatSemantics())));
  Value none = integer(0), up = integer(1), down = integer(-1);
  Value shrunk = select(grew, down, none), grown = select(shrank, up, none);
  Value step;
  switch (mode) {
  case arith::RoundingMode::to_nearest_even:
    step = none;
    break;
  case arith::RoundingMode::toward_zero:
    step = shrunk;
    break;
  case arith::RoundingMode::downward:
    step = select(isNegative, grown, shrunk);
    break;
  case arith::RoundingMode::upward:
    step = select(isNegative, shrunk, grown);
    break;
  case arith::RoundingMode::to_nearest_away:
    step = select(isTie(bits, nearest, shrank), up, none);
    break;
  }
  Value moves =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, step, none);
  Value moved =
      arith::BitcastOp::create(builder, loc, narrow, neighbour(bits, step));
  return select(moves, moved, rounded);
}

void legalize::writeRoundingModes(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  function.walk([&](arith::TruncFOp op) {
    std::optional<arith::RoundingMode> mode = op.getRoundingmode();
    if (!mode || !isa<FloatType>(op.getType()))
      return;
    builder.setInsertionPoint(op);
    op.replaceAllUsesWith(TruncationRounder(builder, op).round(*mode));
    op.erase();
  });
}

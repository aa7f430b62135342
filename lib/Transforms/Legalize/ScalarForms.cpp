//===- ScalarForms.cpp - scalar ops of several results --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"

using namespace mlir;
using namespace tp;

namespace {
/// The high and low half of a product of two integers.
class WideProduct {
public:
  WideProduct(OpBuilder &builder, Location loc, bool isSigned)
      : builder(builder), loc(loc), isSigned(isSigned) {}

  std::pair<Value, Value> of(Value a, Value b) {
    Type type = a.getType();
    Value low = arith::MulIOp::create(builder, loc, a, b);
    int64_t width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    if (width <= 32) {
      Value product = arith::MulIOp::create(builder, loc, widen(a), widen(b));
      Value high = arith::ShRUIOp::create(builder, loc, product, number(width));
      return {low, arith::TruncIOp::create(builder, loc, type, high)};
    }
    Value high = highOf(toI64(a), toI64(b));
    if (type.isIndex())
      high = arith::IndexCastOp::create(builder, loc, type, high);
    return {low, high};
  }

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value widen(Value value) {
    if (isSigned)
      return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value);
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  }
  Value toI64(Value value) {
    if (!value.getType().isIndex())
      return value;
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      value);
  }

  /// By the products of the 32-bit halves; as signed numbers, each operand
  /// below zero takes the other one off the unsigned high half.
  Value highOf(Value a, Value b) {
    Value mask = number(0xffffffff), half = number(32);
    auto lower = [&](Value x) -> Value {
      return arith::AndIOp::create(builder, loc, x, mask);
    };
    auto upper = [&](Value x) -> Value {
      return arith::ShRUIOp::create(builder, loc, x, half);
    };
    auto times = [&](Value x, Value y) -> Value {
      return arith::MulIOp::create(builder, loc, x, y);
    };
    auto plus = [&](Value x, Value y) -> Value {
      return arith::AddIOp::create(builder, loc, x, y);
    };
    Value a0 = lower(a), a1 = upper(a), b0 = lower(b), b1 = upper(b);
    Value middle = plus(times(a1, b0), upper(times(a0, b0)));
    Value carry = plus(times(a0, b1), lower(middle));
    Value high = plus(times(a1, b1), plus(upper(middle), upper(carry)));
    if (!isSigned)
      return high;
    Value zero = number(0);
    for (auto [sign, other] : {std::pair(a, b), std::pair(b, a)}) {
      Value isNegative = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, sign, zero);
      Value excess =
          arith::SelectOp::create(builder, loc, isNegative, other, zero);
      high = arith::SubIOp::create(builder, loc, high, excess);
    }
    return high;
  }

  OpBuilder &builder;
  Location loc;
  bool isSigned;
};
} // namespace

static SmallVector<Value> singleResults(Operation *op, OpBuilder &builder) {
  Location loc = op->getLoc();
  if (auto add = dyn_cast<arith::AddUIExtendedOp>(op)) {
    Value sum = arith::AddIOp::create(builder, loc, add.getLhs(), add.getRhs());
    Value overflow = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, sum, add.getLhs());
    return {sum, overflow};
  }
  if (isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op)) {
    auto [low, high] =
        WideProduct(builder, loc, isa<arith::MulSIExtendedOp>(op))
            .of(op->getOperand(0), op->getOperand(1));
    return {low, high};
  }
  if (auto both = dyn_cast<math::SincosOp>(op))
    return {math::SinOp::create(builder, loc, both.getOperand()),
            math::CosOp::create(builder, loc, both.getOperand())};
  return {};
}

void legalize::splitScalarResults(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  function.walk([&](Operation *op) {
    if (op->getNumResults() != 2 ||
        !op->getResult(0).getType().isIntOrIndexOrFloat())
      return;
    builder.setInsertionPoint(op);
    SmallVector<Value> results = singleResults(op, builder);
    if (results.empty())
      return;
    op->replaceAllUsesWith(results);
    op->erase();
  });
}

//===- Float8Casts.cpp - floats of eight bits to and from f32 -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has no such types: their bits are i8, and casts are integer arithmetic
// without branches, which vectorises.
//
//===----------------------------------------------------------------------===//

#include "Float8Casts.h"
#include "NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cmath>

using namespace mlir;
using namespace tp::target;

namespace {
/// What the casts need of a format, as codes of eight bits.
struct Float8Format {
  explicit Float8Format(FloatType type) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    mantissaBits = APFloat::semanticsPrecision(semantics) - 1;
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    largest = bits(APFloat::getLargest(semantics));
    nan = bits(APFloat::getNaN(semantics));
    hasInfinity = APFloat::semanticsHasInf(semantics);
    overflow = hasInfinity ? bits(APFloat::getInf(semantics)) : nan;
    // The code of -0 is NaN's.
    unsignedZero = nan == 0x80;
  }
  static int64_t bits(APFloat value) {
    return value.bitcastToAPInt().getZExtValue();
  }

  int64_t mantissaBits, bias, largest, nan, overflow;
  bool hasInfinity, unsignedZero;
};

/// Scalar arithmetic on i32 and f32.
class Float8Emitter {
public:
  Float8Emitter(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  Value integer(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  }
  Value real(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  }
  template <typename OpTy> Value op(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value isAbove(Value a, int64_t bound) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, a,
                                 integer(bound));
  }
  Value isEqual(Value a, int64_t value) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                                 integer(value));
  }
  Value bits(Value value, Type type) {
    return arith::BitcastOp::create(builder, loc, type, value);
  }
  Type i8() { return builder.getI8Type(); }
  Type i32() { return builder.getI32Type(); }
  Type f32() { return builder.getF32Type(); }

  OpBuilder &builder;
  Location loc;
};

int64_t bitsOf(float value) { return llvm::bit_cast<uint32_t>(value); }

Value widen(Float8Emitter e, Value narrow, Float8Format format) {
  using namespace arith;
  Value code =
      ExtUIOp::create(e.builder, e.loc, e.i32(), e.bits(narrow, e.i8()));
  Value magnitude = e.op<AndIOp>(code, e.integer(0x7f));
  Value sign = e.op<ShLIOp>(e.op<AndIOp>(code, e.integer(0x80)), e.integer(24));
  // The bits read as an f32 are off by the difference of the biases, a power
  // of two, even where they are a subnormal number.
  Value scaled = e.bits(
      e.op<ShLIOp>(magnitude, e.integer(23 - format.mantissaBits)), e.f32());
  Value value =
      e.op<MulFOp>(scaled, e.real(std::ldexp(1.0, 127 - format.bias)));
  Value bits = e.op<OrIOp>(e.bits(value, e.i32()), sign);
  Value nan = e.integer(bitsOf(std::numeric_limits<float>::quiet_NaN()));
  if (format.unsignedZero)
    return e.bits(e.select(e.isEqual(code, format.nan), nan, bits), e.f32());
  bits = e.select(e.isAbove(magnitude, format.largest), e.op<OrIOp>(nan, sign),
                  bits);
  if (format.hasInfinity) {
    Value infinity = e.integer(bitsOf(std::numeric_limits<float>::infinity()));
    bits = e.select(e.isEqual(magnitude, format.overflow),
                    e.op<OrIOp>(infinity, sign), bits);
  }
  return e.bits(bits, e.f32());
}

/// To nearest, ties to even. What is too large becomes infinity, or NaN in
/// formats that have none.
Value narrow(Float8Emitter e, Value wide, Float8Format format, Type type) {
  using namespace arith;
  Value bits = e.bits(wide, e.i32());
  Value magnitude = e.op<AndIOp>(bits, e.integer(0x7fffffff));
  int64_t dropped = 23 - format.mantissaBits;
  // Normal: round the mantissa, move the exponent.
  Value odd =
      e.op<AndIOp>(e.op<ShRUIOp>(magnitude, e.integer(dropped)), e.integer(1));
  Value rounded = e.op<AddIOp>(
      e.op<AddIOp>(magnitude, e.integer((int64_t(1) << (dropped - 1)) - 1)),
      odd);
  Value normal =
      e.op<SubIOp>(e.op<ShRUIOp>(rounded, e.integer(dropped)),
                   e.integer((127 - format.bias) << format.mantissaBits));
  // Subnormal: the sum's last place is the format's unit.
  float unit = std::ldexp(1.0f, dropped + 1 - format.bias);
  Value sum = e.op<AddFOp>(e.bits(magnitude, e.f32()), e.real(unit));
  Value subnormal = e.op<SubIOp>(e.bits(sum, e.i32()), e.integer(bitsOf(unit)));
  int64_t leastNormal = (127 + 1 - format.bias) << 23;
  Value code =
      e.select(e.isAbove(magnitude, leastNormal - 1), normal, subnormal);
  Value sign =
      e.op<AndIOp>(e.op<ShRUIOp>(bits, e.integer(24)), e.integer(0x80));
  Value isZero = e.isEqual(code, 0);
  Value isLarge = e.isAbove(code, format.largest);
  Value isNaN = e.isAbove(magnitude, 0x7f800000);
  Value large = e.integer(format.overflow), nan = e.integer(format.nan);
  if (format.unsignedZero) {
    code = e.select(isZero, code, e.op<OrIOp>(code, sign));
    code = e.select(isLarge, large, code);
    code = e.select(isNaN, nan, code);
  } else {
    code = e.select(isNaN, nan, e.select(isLarge, large, code));
    code = e.op<OrIOp>(code, sign);
  }
  Value byte = TruncIOp::create(e.builder, e.loc, e.i8(), code);
  return e.bits(byte, type);
}

} // namespace

static LogicalResult widenFloat8(arith::ExtFOp op, PatternRewriter &rewriter) {
  Type from = op.getIn().getType(), to = op.getType();
  if (!isFloat8(from))
    return failure();
  Value value = widen(Float8Emitter(rewriter, op.getLoc()), op.getIn(),
                      Float8Format(cast<FloatType>(from)));
  // All numbers of eight bits are exact in f16 and bf16 too.
  if (to.getIntOrFloatBitWidth() < 32)
    value = arith::TruncFOp::create(rewriter, op.getLoc(), to, value);
  else if (to.isF64())
    value = arith::ExtFOp::create(rewriter, op.getLoc(), to, value);
  rewriter.replaceOp(op, value);
  return success();
}

static LogicalResult narrowToFloat8(arith::TruncFOp op,
                                    PatternRewriter &rewriter) {
  if (!isFloat8(op.getType()))
    return failure();
  Value value = op.getIn();
  if (value.getType().isF64())
    value = roundToOdd(rewriter, op.getLoc(), value);
  else if (!value.getType().isF32())
    value = arith::ExtFOp::create(rewriter, op.getLoc(), rewriter.getF32Type(),
                                  value);
  rewriter.replaceOp(op, narrow(Float8Emitter(rewriter, op.getLoc()), value,
                                Float8Format(cast<FloatType>(op.getType())),
                                op.getType()));
  return success();
}

bool tp::target::isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType,
             Float8E5M2FNUZType>(type);
}

void tp::target::populateFloat8Casts(RewritePatternSet &patterns) {
  patterns.add(widenFloat8).add(narrowToFloat8);
}

//===- DeviceMath.cpp - functions that no instruction computes ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace {
/// Scalar arithmetic in f64 and integers.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value real(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  }
  Value integer(uint64_t value, unsigned width = 64) {
    Type type = builder.getIntegerType(width);
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, APInt(width, value)));
  }
  template <typename OpTy> Value op(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  template <typename OpTy> Value to(Type type, Value a) {
    return OpTy::create(builder, loc, type, a);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate kind, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, kind, a, b);
  }
  Value compare(arith::CmpIPredicate kind, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, kind, a, b);
  }
  Type f64() { return builder.getF64Type(); }
  Type f32() { return builder.getF32Type(); }
  Type i64() { return builder.getI64Type(); }
  Type i32() { return builder.getI32Type(); }
  Value narrow(Value a) { return to<arith::TruncFOp>(f32(), a); }
  Value widen(Value a) { return to<arith::ExtFOp>(f64(), a); }

  /// sum of coefficients[i] * x^i.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, real(coefficient));
    return sum;
  }
  /// 2^k of an i64 within the exponents of normal numbers.
  Value powerOfTwo(Value k) {
    Value bits =
        op<arith::ShLIOp>(op<arith::AddIOp>(k, integer(1023)), integer(52));
    return to<arith::BitcastOp>(f64(), bits);
  }

  Value exponential(Value x);
  Value logarithm(Value x);
  /// The remainder of an f32 by pi/2, in f64 from -pi/4 to pi/4, and the number
  /// of quarters modulo 4, in i64; of the magnitude.
  std::pair<Value, Value> quarters(Value x);
  Value sine(Value x, bool cosine);
  Value power(Value x, Value y);

  OpBuilder &builder;
  Location loc;
};
} // namespace

Value Arithmetic::exponential(Value x) {
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, x);
  // Beyond these the result is 0 or infinity.
  Value inside = select(isNumber, x, real(0.0));
  inside = op<arith::MinimumFOp>(op<arith::MaximumFOp>(inside, real(-746.0)),
                                 real(710.0));
  Value k = math::RoundEvenOp::create(
      builder, loc, op<arith::MulFOp>(inside, real(1.4426950408889634)));
  constexpr double high = 6.93147180369123816490e-01,
                   low = 1.90821492927058770002e-10;
  Value rest = fma(k, real(-high), inside);
  rest = fma(k, real(-low), rest);
  SmallVector<double> coefficients = {1.0};
  for (int i = 1; i <= 13; ++i)
    coefficients.push_back(coefficients.back() / i);
  Value series = polynomial(rest, coefficients);
  // In two steps: neither factor leaves the normal numbers.
  Value whole = to<arith::FPToSIOp>(i64(), k);
  Value half = op<arith::ShRSIOp>(whole, integer(1));
  Value other = op<arith::SubIOp>(whole, half);
  Value result = op<arith::MulFOp>(op<arith::MulFOp>(series, powerOfTwo(half)),
                                   powerOfTwo(other));
  return select(isNumber, result, x);
}

Value Arithmetic::logarithm(Value x) {
  const double infinity = std::numeric_limits<double>::infinity();
  Value isSmall = compare(arith::CmpFPredicate::OLT, x,
                          real(std::numeric_limits<double>::min()));
  Value scaled = select(isSmall, op<arith::MulFOp>(x, real(0x1p54)), x);
  Value bits = to<arith::BitcastOp>(i64(), scaled);
  // Mantissas from sqrt(1/2) to sqrt(2), so that 1 is in the middle.
  constexpr uint64_t rootHalf = 0x3fe6a09e667f3bcd;
  Value above = op<arith::SubIOp>(bits, integer(rootHalf));
  Value exponent = op<arith::ShRSIOp>(above, integer(52));
  Value mantissa = to<arith::BitcastOp>(
      f64(), op<arith::SubIOp>(bits, op<arith::ShLIOp>(exponent, integer(52))));
  exponent =
      op<arith::SubIOp>(exponent, select(isSmall, integer(54), integer(0)));
  Value e = to<arith::SIToFPOp>(f64(), exponent);
  Value below = op<arith::SubFOp>(mantissa, real(1.0));
  Value s = op<arith::DivFOp>(below, op<arith::AddFOp>(mantissa, real(1.0)));
  Value s2 = op<arith::MulFOp>(s, s);
  SmallVector<double> coefficients;
  for (int i = 1; i <= 11; ++i)
    coefficients.push_back(2.0 / (2 * i + 1));
  // log(m) = 2s + 2/3 s^3 + ...; 2s is exact up to the quotient's rounding.
  Value tail =
      op<arith::MulFOp>(op<arith::MulFOp>(s, s2), polynomial(s2, coefficients));
  constexpr double high = 6.93147180369123816490e-01,
                   low = 1.90821492927058770002e-10;
  Value result = op<arith::AddFOp>(fma(s, real(2.0), fma(e, real(low), tail)),
                                   op<arith::MulFOp>(e, real(high)));
  result = select(compare(arith::CmpFPredicate::OEQ, x, real(0.0)),
                  real(-infinity), result);
  result =
      select(compare(arith::CmpFPredicate::OEQ, x, real(infinity)), x, result);
  // Below zero and of NaN.
  return select(compare(arith::CmpFPredicate::OGE, x, real(0.0)), result,
                real(std::numeric_limits<double>::quiet_NaN()));
}

/// Payne and Hanek: of x / (2 pi) whole turns do not matter, so of 1 / (2 pi)
/// only the bits that the exponent of x puts behind the point: 96 of them times
/// the 24 of the mantissa.
std::pair<Value, Value> Arithmetic::quarters(Value x) {
  // 1 / (2 pi) from the bit of 2^-1 on, behind 64 zeros.
  constexpr uint32_t words[] = {0,          0,          0x28be60db,
                                0x9391054a, 0x7f09d5f4, 0x7d4d3770,
                                0x36d8a566, 0x4f10e410, 0x7f9458ea};
  Value bits = to<arith::BitcastOp>(i32(), x);
  Value exponent = op<arith::AndIOp>(op<arith::ShRUIOp>(bits, integer(23, 32)),
                                     integer(255, 32));
  // x = mantissa * 2^(exponent - 150).
  Value mantissa = op<arith::OrIOp>(
      op<arith::AndIOp>(bits, integer(0x7fffff, 32)), integer(0x800000, 32));
  // Where the bits begin; what is smaller is its own remainder.
  constexpr unsigned begin = 150 - 64;
  Value shift = op<arith::SubIOp>(
      op<arith::MaxSIOp>(exponent, integer(begin, 32)), integer(begin, 32));
  Value word = op<arith::ShRUIOp>(shift, integer(5, 32));
  Value part = op<arith::AndIOp>(shift, integer(31, 32));
  SmallVector<Value> chosen;
  for (unsigned i = 0; i < 4; ++i) {
    Value value = integer(words[i], 32);
    for (unsigned j = 1; j < 6; ++j)
      value = select(compare(arith::CmpIPredicate::uge, word, integer(j, 32)),
                     integer(words[i + j], 32), value);
    chosen.push_back(to<arith::ExtUIOp>(i64(), value));
  }
  Value left = to<arith::ExtUIOp>(i64(), part);
  auto joined = [&](Value high, Value low) {
    Value both = op<arith::OrIOp>(op<arith::ShLIOp>(high, integer(32)), low);
    Value moved = op<arith::ShLIOp>(both, left);
    return op<arith::ShRUIOp>(moved, integer(32));
  };
  Value first = joined(chosen[0], chosen[1]),
        second = joined(chosen[1], chosen[2]),
        third = joined(chosen[2], chosen[3]);
  Value m = to<arith::ExtUIOp>(i64(), mantissa);
  // The product's bits 32 to 95 of 96; what overflows is whole turns.
  Value product = op<arith::AddIOp>(
      op<arith::MulIOp>(m, second),
      op<arith::ShRUIOp>(op<arith::MulIOp>(m, third), integer(32)));
  product = op<arith::AddIOp>(
      product, op<arith::ShLIOp>(op<arith::MulIOp>(m, first), integer(32)));
  Value rounded = op<arith::AddIOp>(product, integer(uint64_t(1) << 61));
  Value quarter = op<arith::ShRUIOp>(rounded, integer(62));
  Value fraction =
      op<arith::SubIOp>(product, op<arith::ShLIOp>(quarter, integer(62)));
  Value rest = op<arith::MulFOp>(to<arith::SIToFPOp>(f64(), fraction),
                                 real(M_PI_2 * 0x1p-62));
  return {rest, quarter};
}

Value Arithmetic::sine(Value x, bool cosine) {
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  auto [far, farQuarter] = quarters(magnitude);
  Value wide = widen(magnitude);
  Value isNear = compare(arith::CmpFPredicate::OLT, wide, real(M_PI_4));
  Value rest = select(isNear, wide, far);
  Value quarter = select(isNear, integer(0), farQuarter);
  if (cosine)
    quarter = op<arith::AddIOp>(quarter, integer(1));
  Value square = op<arith::MulFOp>(rest, rest);
  SmallVector<double> odd = {1.0}, even = {1.0};
  for (int i = 1; i <= 7; ++i) {
    odd.push_back(-odd.back() / ((2 * i) * (2 * i + 1)));
    even.push_back(-even.back() / ((2 * i - 1) * (2 * i)));
  }
  Value sineOfRest = op<arith::MulFOp>(rest, polynomial(square, odd));
  Value cosineOfRest = polynomial(square, even);
  auto hasBit = [&](uint64_t bit) {
    return compare(arith::CmpIPredicate::ne,
                   op<arith::AndIOp>(quarter, integer(bit)), integer(0));
  };
  Value result = select(hasBit(1), cosineOfRest, sineOfRest);
  Value negated = arith::NegFOp::create(builder, loc, result);
  result = narrow(select(hasBit(2), negated, result));
  if (!cosine) {
    Value mirrored = arith::NegFOp::create(builder, loc, result);
    Value isNegative = compare(arith::CmpIPredicate::slt,
                               to<arith::BitcastOp>(i32(), x), integer(0, 32));
    result = select(isNegative, mirrored, result);
  }
  // Of infinity and NaN.
  Value isFinite = compare(arith::CmpFPredicate::OLT, wide,
                           real(std::numeric_limits<double>::infinity()));
  Value nan = narrow(real(std::numeric_limits<double>::quiet_NaN()));
  return select(isFinite, result, nan);
}

Value Arithmetic::power(Value x, Value y) {
  const double infinity = std::numeric_limits<double>::infinity();
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  Value result = exponential(op<arith::MulFOp>(y, logarithm(magnitude)));
  auto isWhole = [&](Value v) {
    Value cut = math::TruncOp::create(builder, loc, v);
    return compare(arith::CmpFPredicate::OEQ, cut, v);
  };
  Value whole = isWhole(y);
  Value evenOrNot = isWhole(op<arith::MulFOp>(y, real(0.5)));
  Value bits = to<arith::BitcastOp>(i64(), x);
  Value isNegative = compare(arith::CmpIPredicate::slt, bits, integer(0));
  Value negated = arith::NegFOp::create(builder, loc, result);
  Value isOdd =
      op<arith::AndIOp>(whole, op<arith::XOrIOp>(evenOrNot, integer(1, 1)));
  result = select(op<arith::AndIOp>(isNegative, isOdd), negated, result);
  // A finite negative base with a broken exponent.
  Value isBelow =
      op<arith::AndIOp>(compare(arith::CmpFPredicate::OLT, x, real(0.0)),
                        compare(arith::CmpFPredicate::OGT, x, real(-infinity)));
  Value isBroken =
      op<arith::AndIOp>(isBelow, op<arith::XOrIOp>(whole, integer(1, 1)));
  result =
      select(isBroken, real(std::numeric_limits<double>::quiet_NaN()), result);
  Value isOne =
      op<arith::OrIOp>(compare(arith::CmpFPredicate::OEQ, x, real(1.0)),
                       compare(arith::CmpFPredicate::OEQ, y, real(0.0)));
  Value infiniteOfUnit = op<arith::AndIOp>(
      compare(arith::CmpFPredicate::OEQ, x, real(-1.0)),
      compare(arith::CmpFPredicate::OEQ, math::AbsFOp::create(builder, loc, y),
              real(infinity)));
  return select(op<arith::OrIOp>(isOne, infiniteOfUnit), real(1.0), result);
}

namespace {
template <typename OpTy> struct Expand : OpRewritePattern<OpTy> {
  using Compute = Value (*)(Arithmetic &, OpTy);
  Expand(MLIRContext *context, bool isDouble, Compute compute)
      : OpRewritePattern<OpTy>(context), isDouble(isDouble), compute(compute) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (isDouble ? !type.isF64() : !type.isF32())
      return failure();
    Arithmetic arithmetic(rewriter, op.getLoc());
    rewriter.replaceOp(op, compute(arithmetic, op));
    return success();
  }
  bool isDouble;
  Compute compute;
};
} // namespace

void tp::cuda::populateDeviceMath(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  auto add = [&]<typename OpTy>(bool isDouble,
                                Value (*compute)(Arithmetic &, OpTy)) {
    patterns.add(std::make_unique<Expand<OpTy>>(context, isDouble, compute));
  };
  add.operator()<math::ExpOp>(true, [](Arithmetic &a, math::ExpOp op) {
    return a.exponential(op.getOperand());
  });
  add.operator()<math::LogOp>(true, [](Arithmetic &a, math::LogOp op) {
    return a.logarithm(op.getOperand());
  });
  add.operator()<math::SinOp>(false, [](Arithmetic &a, math::SinOp op) {
    return a.sine(op.getOperand(), /*cosine=*/false);
  });
  add.operator()<math::CosOp>(false, [](Arithmetic &a, math::CosOp op) {
    return a.sine(op.getOperand(), /*cosine=*/true);
  });
  add.operator()<math::PowFOp>(false, [](Arithmetic &a, math::PowFOp op) {
    return a.narrow(a.power(a.widen(op.getLhs()), a.widen(op.getRhs())));
  });
  add.operator()<math::Exp2Op>(false, [](Arithmetic &a, math::Exp2Op op) {
    return a.narrow(a.exponential(
        a.op<arith::MulFOp>(a.widen(op.getOperand()), a.real(M_LN2))));
  });
  add.operator()<math::Log2Op>(false, [](Arithmetic &a, math::Log2Op op) {
    return a.narrow(a.op<arith::MulFOp>(a.logarithm(a.widen(op.getOperand())),
                                        a.real(M_LOG2E)));
  });
  add.operator()<math::Log10Op>(false, [](Arithmetic &a, math::Log10Op op) {
    return a.narrow(a.op<arith::MulFOp>(a.logarithm(a.widen(op.getOperand())),
                                        a.real(M_LOG10E)));
  });
}

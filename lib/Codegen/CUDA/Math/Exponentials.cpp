//===- Exponentials.cpp - exponentials, logarithms and powers -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp::cuda;

/// ln 2; products of the first part with exponents are exact.
static constexpr double highLn2 = 6.93147180369123816490e-01,
                        lowLn2 = 1.90821492927058770002e-10;

Value Arithmetic::exponential(Value x, Value low) {
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, x);
  // Beyond these the result is 0 or infinity.
  Value inside = select(isNumber, x, real(0.0));
  inside = op<arith::MinimumFOp>(op<arith::MaximumFOp>(inside, real(-746.0)),
                                 real(710.0));
  Value k = math::RoundEvenOp::create(
      builder, loc, op<arith::MulFOp>(inside, real(1.4426950408889634)));
  Value rest = fma(k, real(-highLn2), inside);
  rest = fma(k, real(-lowLn2), rest);
  if (low)
    rest = add(rest, low);
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
  Value result =
      op<arith::AddFOp>(fma(s, real(2.0), fma(e, real(lowLn2), tail)),
                        op<arith::MulFOp>(e, real(highLn2)));
  result = select(compare(arith::CmpFPredicate::OEQ, x, real(0.0)),
                  real(-infinity), result);
  result =
      select(compare(arith::CmpFPredicate::OEQ, x, real(infinity)), x, result);
  // Below zero and of NaN.
  return select(compare(arith::CmpFPredicate::OGE, x, real(0.0)), result,
                real(std::numeric_limits<double>::quiet_NaN()));
}

Value Arithmetic::exponentialMinusOne(Value x) {
  // 2^k (e^rest - 1) + (2^k - 1).
  Value inside = op<arith::MaximumFOp>(x, real(-60.0));
  inside = op<arith::MinimumFOp>(inside, real(700.0));
  inside = select(compare(arith::CmpFPredicate::ORD, x, x), inside, real(0.0));
  Value k = math::RoundEvenOp::create(builder, loc,
                                      mul(inside, real(1.4426950408889634)));
  Value high = fma(k, real(-highLn2), inside);
  Value rest = fma(k, real(-lowLn2), high);
  // What the subtraction rounded away.
  Value lost = fma(k, real(-lowLn2), sub(high, rest));
  SmallVector<double> coefficients = {0.5};
  for (int i = 3; i <= 15; ++i)
    coefficients.push_back(coefficients.back() / i);
  Value tail = fma(mul(rest, rest), polynomial(rest, coefficients), lost);
  Value scale = powerOfTwo(to<arith::FPToSIOp>(i64(), k));
  Value whole = sub(scale, real(1.0));
  // Both in two parts: the large ones add up first.
  Value large = fma(scale, rest, whole);
  Value error = fma(scale, rest, sub(whole, large));
  Value result = add(large, fma(scale, tail, error));
  Value isSmall = isEqual(k, 0.0);
  result = select(isSmall, add(rest, tail), result);
  // Beyond, one does not count; zeros keep their sign.
  result = select(isLess(x, 700.0), result, exponential(x));
  return select(isEqual(x, 0.0), x, result);
}

Value Arithmetic::powerOfTwoOf(Value x) {
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, x);
  Value inside = select(isNumber, x, real(0.0));
  inside = op<arith::MinimumFOp>(op<arith::MaximumFOp>(inside, real(-1076.0)),
                                 real(1025.0));
  Value k = math::RoundEvenOp::create(builder, loc, inside);
  Value rest = sub(inside, k);
  constexpr double ln2 = 6.93147180559945286227e-01,
                   ln2Low = 2.31904681384629955842e-17;
  Value high = mul(rest, real(ln2));
  Value low =
      fma(rest, real(ln2Low),
          fma(rest, real(ln2), arith::NegFOp::create(builder, loc, high)));
  Value series = exponential(high, low);
  Value whole = to<arith::FPToSIOp>(i64(), k);
  Value half = op<arith::ShRSIOp>(whole, integer(1));
  Value result = mul(mul(series, powerOfTwo(half)),
                     powerOfTwo(op<arith::SubIOp>(whole, half)));
  return select(isNumber, result, x);
}

Value Arithmetic::logarithmOfOnePlus(Value x) {
  // log of the rounded sum, and what rounding it changes.
  Value sum = add(x, real(1.0));
  Value lost = sub(x, sub(sum, real(1.0)));
  Value result = add(logarithm(sum), div(lost, sum));
  Value isTiny = isLess(magnitude(x), 0x1p-54);
  result = select(isTiny, x, result);
  // At the ends what rounding changes is no number.
  Value special = op<arith::OrIOp>(
      isEqual(sum, 0.0), isEqual(sum, std::numeric_limits<double>::infinity()));
  return select(special, logarithm(sum), result);
}

Value Arithmetic::decimalLogarithm(Value x) {
  // 1 / ln 10.
  constexpr double high = 4.34294481903251816668e-01,
                   low = 1.09831965021676510000e-17;
  Value natural = logarithm(x);
  Value result = mul(natural, real(high));
  Value finite =
      isLess(magnitude(natural), std::numeric_limits<double>::infinity());
  return select(finite, fma(natural, real(high), mul(natural, real(low))),
                result);
}

/// A positive number as mantissa * 2^whole, the mantissa from the root of a
/// half to that of two.
static std::pair<Value, Value> splitExponent(Arithmetic &a, Value x) {
  Value isSmall = a.isLess(x, std::numeric_limits<double>::min());
  Value scaled = a.select(isSmall, a.mul(x, a.real(0x1p54)), x);
  Value bits = a.to<arith::BitcastOp>(a.i64(), scaled);
  constexpr uint64_t rootHalf = 0x3fe6a09e667f3bcd;
  Value exponent = a.op<arith::ShRSIOp>(
      a.op<arith::SubIOp>(bits, a.integer(rootHalf)), a.integer(52));
  Value mantissa = a.to<arith::BitcastOp>(
      a.f64(),
      a.op<arith::SubIOp>(bits, a.op<arith::ShLIOp>(exponent, a.integer(52))));
  exponent = a.op<arith::SubIOp>(
      exponent, a.select(isSmall, a.integer(54), a.integer(0)));
  return {mantissa, a.to<arith::SIToFPOp>(a.f64(), exponent)};
}

Value Arithmetic::binaryLogarithm(Value x) {
  // The exponent is exact, so that powers of two are.
  const double infinity = std::numeric_limits<double>::infinity();
  auto [mantissa, whole] = splitExponent(*this, x);
  Value isNormal = op<arith::AndIOp>(
      compare(arith::CmpFPredicate::OGT, x, real(0.0)), isLess(x, infinity));
  Value part = logarithm(select(isNormal, mantissa, real(1.0)));
  constexpr double high = 1.44269504088896338700e+00,
                   low = 2.03552737409310331115e-17;
  Value result = add(fma(part, real(high), mul(part, real(low))), whole);
  return select(isNormal, result, logarithm(x));
}

namespace {
/// The sum of two f64, the second at most half a unit of the first.
struct DoubleDouble {
  Value high, low;
};

struct DoubleArithmetic {
  Arithmetic &a;
  DoubleDouble sum(Value x, Value y) {
    Value high = a.add(x, y), part = a.sub(high, x);
    return {high, a.add(a.sub(x, a.sub(high, part)), a.sub(y, part))};
  }
  DoubleDouble sum(DoubleDouble x, DoubleDouble y) {
    DoubleDouble high = sum(x.high, y.high);
    return fast(high.high, a.add(high.low, a.add(x.low, y.low)));
  }
  /// Of which the first is the larger.
  DoubleDouble fast(Value x, Value y) {
    Value high = a.add(x, y);
    return {high, a.sub(y, a.sub(high, x))};
  }
  DoubleDouble product(DoubleDouble x, DoubleDouble y) {
    Value high = a.mul(x.high, y.high);
    Value low =
        a.fma(x.high, y.high, arith::NegFOp::create(a.builder, a.loc, high));
    low = a.fma(x.high, y.low, a.fma(x.low, y.high, low));
    return fast(high, low);
  }
  DoubleDouble constant(double high, double low) {
    return {a.real(high), a.real(low)};
  }
};
} // namespace

Value Arithmetic::power(Value x, Value y) {
  DoubleArithmetic d{*this};
  const double infinity = std::numeric_limits<double>::infinity();
  Value absolute = magnitude(x);
  // log of the magnitude to 65 digits: 2 atanh((m - 1) / (m + 1)).
  auto [m, e] = splitExponent(*this, absolute);
  Value above = sub(m, real(1.0));
  DoubleDouble below = d.sum(m, real(1.0));
  Value quotient = div(above, below.high);
  Value negated = arith::NegFOp::create(builder, loc, quotient);
  Value rest = fma(negated, below.low, fma(negated, below.high, above));
  DoubleDouble s = d.fast(quotient, div(rest, below.high));
  DoubleDouble square = d.product(s, s), cube = d.product(square, s);
  SmallVector<double> coefficients;
  for (int i = 2; i <= 12; ++i)
    coefficients.push_back(2.0 / (2 * i + 1));
  DoubleDouble third = d.product(
      cube, d.constant(6.66666666666666629659e-01, 3.70074341541718826e-17));
  Value tail =
      mul(mul(cube.high, square.high), polynomial(square.high, coefficients));
  DoubleDouble twice = {add(s.high, s.high), add(s.low, s.low)};
  DoubleDouble log = d.sum(twice, d.fast(third.high, add(third.low, tail)));
  log = d.sum(d.sum(mul(e, real(highLn2)), mul(e, real(lowLn2))), log);
  // Of zero, infinity and NaN.
  Value isNormal =
      op<arith::AndIOp>(compare(arith::CmpFPredicate::OGT, absolute, real(0.0)),
                        isLess(absolute, infinity));
  log.high = select(isNormal, log.high, logarithm(absolute));
  log.low = select(isNormal, log.low, real(0.0));
  Value high = mul(y, log.high);
  Value low = fma(y, log.low,
                  fma(y, log.high, arith::NegFOp::create(builder, loc, high)));
  // Beyond that the result is 0 or infinity, whatever the low part.
  low = select(isLess(magnitude(high), 1000.0), low, real(0.0));
  return specialPower(x, y, exponential(high, low));
}

Value Arithmetic::shortPower(Value x, Value y) {
  return specialPower(x, y, exponential(mul(y, logarithm(magnitude(x)))));
}

/// What C says of pow's special values; `result` is that of the magnitude of
/// `x`.
Value Arithmetic::specialPower(Value x, Value y, Value result) {
  const double infinity = std::numeric_limits<double>::infinity();
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

Value Arithmetic::cubeRoot(Value x) {
  Value absolute = magnitude(x);
  Value isSmall = isLess(absolute, std::numeric_limits<double>::min());
  Value scaled = select(isSmall, mul(absolute, real(0x1p54)), absolute);
  // A third of the exponent, to 4 digits after the point of the mantissa.
  Value bits = to<arith::BitcastOp>(i64(), scaled);
  Value guess = op<arith::AddIOp>(op<arith::DivUIOp>(bits, integer(3)),
                                  integer(uint64_t(715094163) << 32));
  Value t = to<arith::BitcastOp>(f64(), guess);
  for (int i = 0; i < 3; ++i) {
    Value cube = mul(mul(t, t), t);
    t = mul(t, div(fma(scaled, real(2.0), cube), fma(cube, real(2.0), scaled)));
  }
  // One step of Newton's with the exact residue.
  Value square = mul(t, t);
  Value lost = fma(t, t, arith::NegFOp::create(builder, loc, square));
  Value cube = mul(square, t);
  Value residue = fma(square, t, arith::NegFOp::create(builder, loc, cube));
  residue = add(sub(cube, scaled), fma(lost, t, residue));
  t = sub(t, div(residue, mul(square, real(3.0))));
  t = select(isSmall, mul(t, real(0x1p-18)), t);
  Value special =
      op<arith::OrIOp>(isEqual(absolute, 0.0),
                       compare(arith::CmpFPredicate::UEQ, absolute,
                               real(std::numeric_limits<double>::infinity())));
  return select(special, x, withSign(t, x));
}

//===- Trigonometry.cpp - sines and cosines -------------------------------===//
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

Value Arithmetic::sineOfFloat(Value x, bool cosine) {
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

/// 2 / pi behind 64 zeros, the first word first.
static constexpr uint64_t twoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
    0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// As `quarters` does of an f32, with 192 bits of 2 / pi: a remainder is never
/// smaller than 2^-62, so that 64 bits of it are right.
std::pair<Value, Value> Arithmetic::sineAndCosine(Value x) {
  Value absolute = magnitude(x);
  Value bits = to<arith::BitcastOp>(i64(), absolute);
  Value mantissa = op<arith::OrIOp>(
      op<arith::AndIOp>(bits, integer((uint64_t(1) << 52) - 1)),
      integer(uint64_t(1) << 52));
  // x = mantissa * 2^(exponent - 1075); the window's first bit counts as 2.
  constexpr uint64_t begin = 1013;
  Value exponent = op<arith::ShRUIOp>(bits, integer(52));
  Value at = op<arith::SubIOp>(op<arith::MaxUIOp>(exponent, integer(begin)),
                               integer(begin));
  Value word = op<arith::ShRUIOp>(at, integer(6));
  Value left = op<arith::AndIOp>(at, integer(63));
  SmallVector<Value> chosen;
  for (unsigned i = 0; i < 4; ++i) {
    Value value = integer(twoOverPi[i]);
    for (unsigned j = 1; i + j < std::size(twoOverPi); ++j)
      value = select(compare(arith::CmpIPredicate::uge, word, integer(j)),
                     integer(twoOverPi[i + j]), value);
    chosen.push_back(value);
  }
  SmallVector<Value> window;
  for (unsigned i = 0; i < 3; ++i) {
    // A shift by 64 would be none.
    Value right =
        op<arith::ShRUIOp>(op<arith::ShRUIOp>(chosen[i + 1], integer(1)),
                           op<arith::SubIOp>(integer(63), left));
    window.push_back(
        op<arith::OrIOp>(op<arith::ShLIOp>(chosen[i], left), right));
  }
  auto middle =
      arith::MulUIExtendedOp::create(builder, loc, mantissa, window[1]);
  auto last = arith::MulUIExtendedOp::create(builder, loc, mantissa, window[2]);
  Value low = op<arith::AddIOp>(middle.getLow(), last.getHigh());
  Value carry = to<arith::ExtUIOp>(
      i64(), compare(arith::CmpIPredicate::ult, low, middle.getLow()));
  Value high = op<arith::AddIOp>(
      op<arith::AddIOp>(op<arith::MulIOp>(mantissa, window[0]),
                        middle.getHigh()),
      carry);
  Value quarter = op<arith::ShRUIOp>(
      op<arith::AddIOp>(high, integer(uint64_t(1) << 61)), integer(62));
  Value fraction =
      op<arith::SubIOp>(high, op<arith::ShLIOp>(quarter, integer(62)));
  // Its leading bits are exact in f64, and so are those that follow.
  constexpr uint64_t kept = ~uint64_t(0x7ff);
  Value lead = op<arith::AndIOp>(fraction, integer(kept));
  Value follow = op<arith::SubIOp>(fraction, lead);
  Value first = mul(to<arith::SIToFPOp>(f64(), lead), real(0x1p-62));
  Value second = fma(to<arith::UIToFPOp>(f64(), low), real(0x1p-126),
                     mul(to<arith::SIToFPOp>(f64(), follow), real(0x1p-62)));
  constexpr double half = 1.57079632679489655800e+00,
                   halfLow = 6.12323399573676603587e-17;
  Value turned = mul(first, real(half));
  Value lost =
      fma(first, real(half), arith::NegFOp::create(builder, loc, turned));
  lost = fma(add(first, second), real(halfLow), fma(second, real(half), lost));
  Value rest = add(turned, lost);
  Value part = add(sub(turned, rest), lost);
  Value isNear = isLess(absolute, M_PI_4);
  rest = select(isNear, absolute, rest);
  part = select(isNear, real(0.0), part);
  quarter = select(isNear, integer(0), quarter);

  // fdlibm's kernels.
  Value square = mul(rest, rest), cube = mul(square, rest);
  Value odd = polynomial(
      square, {8.33333333332248946124e-03, -1.98412698298579493134e-04,
               2.75573137070700676789e-06, -2.50507602534068634195e-08,
               1.58969099521155010221e-10});
  constexpr double sixth = -1.66666666666666324348e-01;
  Value inner = sub(mul(part, real(0.5)), mul(cube, odd));
  Value sine =
      sub(rest, sub(sub(mul(square, inner), part), mul(cube, real(sixth))));
  Value even = mul(
      square,
      polynomial(square,
                 {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                  2.48015872894767294178e-05, -2.75573143513906633035e-07,
                  2.08757232129817482790e-09, -1.13596475577881948265e-11}));
  Value halfSquare = mul(square, real(0.5));
  Value near = sub(real(1.0), halfSquare);
  Value cosine = add(near, add(sub(sub(real(1.0), near), halfSquare),
                               sub(mul(square, even), mul(rest, part))));
  auto hasBit = [&](Value number, uint64_t bit) {
    return compare(arith::CmpIPredicate::ne,
                   op<arith::AndIOp>(number, integer(bit)), integer(0));
  };
  auto chosenOf = [&](Value number) {
    Value value = select(hasBit(number, 1), cosine, sine);
    return select(hasBit(number, 2), arith::NegFOp::create(builder, loc, value),
                  value);
  };
  Value sineOfX = chosenOf(quarter);
  Value isNegative = compare(arith::CmpIPredicate::slt,
                             to<arith::BitcastOp>(i64(), x), integer(0));
  sineOfX =
      select(isNegative, arith::NegFOp::create(builder, loc, sineOfX), sineOfX);
  Value cosineOfX = chosenOf(op<arith::AddIOp>(quarter, integer(1)));
  Value isFinite = isLess(absolute, std::numeric_limits<double>::infinity());
  Value nan = real(std::numeric_limits<double>::quiet_NaN());
  return {select(isFinite, sineOfX, nan), select(isFinite, cosineOfX, nan)};
}

Value Arithmetic::tangent(Value x) {
  auto [sine, cosine] = sineAndCosine(x);
  return div(sine, cosine);
}

//===- InverseTrigonometry.cpp - arc functions ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include <cmath>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace tp::cuda;

static constexpr double halfPi = 1.57079632679489655800e+00,
                        halfPiLow = 6.12323399573676603587e-17;

/// fdlibm's (asin(sqrt(z)) / sqrt(z) - 1), for z up to 1/4.
static Value arcRatio(Arithmetic &a, Value z) {
  Value p = a.mul(
      z, a.polynomial(
             z, {1.66666666666666657415e-01, -3.25565818622400915405e-01,
                 2.01212532134862925881e-01, -4.00555345006794114027e-02,
                 7.91534994289814532176e-04, 3.47933107596021167570e-05}));
  Value q = a.polynomial(
      z, {1.0, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
          -6.88283971605453293030e-01, 7.70381505559019352791e-02});
  return a.div(p, q);
}

/// sqrt(z) as a sum of which the first has half the digits.
static std::pair<Value, Value> splitRoot(Arithmetic &a, Value z, Value root) {
  Value first = a.leading(root);
  Value rest = a.div(a.sub(z, a.mul(first, first)), a.add(root, first));
  return {first, a.select(a.isEqual(root, 0.0), a.real(0.0), rest)};
}

namespace {
/// What arc sine and arc cosine of x have in common: they are computed from
/// z = x^2 up to 1/2, then from z = (1 - |x|) / 2.
struct ArcParts {
  ArcParts(Arithmetic &a, Value x)
      : absolute(a.magnitude(x)), isNear(a.isLess(absolute, 0.5)) {
    Value z = a.select(isNear, a.mul(x, x),
                       a.mul(a.sub(a.real(1.0), absolute), a.real(0.5)));
    ratio = arcRatio(a, z);
    root = a.root(z);
    std::tie(first, rest) = splitRoot(a, z, root);
  }
  Value absolute, isNear, ratio, root;
  /// The root as a sum.
  Value first, rest;
};
} // namespace

Value Arithmetic::arcSine(Value x) {
  auto [absolute, isNear, ratio, s, first, rest] = ArcParts(*this, x);
  // pi/2 - 2 asin(sqrt((1 - x) / 2)).
  Value p = sub(mul(add(s, s), ratio), sub(real(halfPiLow), add(rest, rest)));
  Value q = sub(real(M_PI_4), add(first, first));
  Value far = sub(real(M_PI_4), sub(p, q));
  Value near = fma(absolute, ratio, absolute);
  return withSign(select(isNear, near, far), x);
}

Value Arithmetic::arcCosine(Value x) {
  auto [absolute, isNear, ratio, s, first, rest] = ArcParts(*this, x);
  Value near = sub(real(halfPi), sub(x, sub(real(halfPiLow), mul(x, ratio))));
  Value above = add(first, add(mul(ratio, s), rest));
  above = add(above, above);
  Value below = add(s, sub(mul(ratio, s), real(halfPiLow)));
  below = sub(real(M_PI), add(below, below));
  return select(isNear, near, select(isLess(x, 0.0), below, above));
}

Value Arithmetic::arcTangent(Value x) {
  // fdlibm: around one of five points.
  Value t = magnitude(x);
  Value reduced = t, high = real(0.0), low = real(0.0);
  auto from = [&](double bound, Value ratio, double value, double part) {
    Value above = compare(arith::CmpFPredicate::OGE, t, real(bound));
    reduced = select(above, ratio, reduced);
    high = select(above, real(value), high);
    low = select(above, real(part), low);
  };
  from(0.4375, div(fma(t, real(2.0), real(-1.0)), add(t, real(2.0))),
       4.63647609000806093515e-01, 2.26987774529616870924e-17);
  from(0.6875, div(sub(t, real(1.0)), add(t, real(1.0))),
       7.85398163397448278999e-01, 3.06161699786838301793e-17);
  from(1.1875, div(sub(t, real(1.5)), fma(t, real(1.5), real(1.0))),
       9.82793723247329054082e-01, 1.39033110312309984516e-17);
  from(2.4375, div(real(-1.0), t), halfPi, halfPiLow);
  Value z = mul(reduced, reduced), w = mul(z, z);
  Value odd = mul(
      z,
      polynomial(w, {3.33333333333329318027e-01, 1.42857142725034663711e-01,
                     9.09088713343650656196e-02, 6.66107313738753120669e-02,
                     4.97687799461593236017e-02, 1.62858201153657823623e-02}));
  Value even = mul(
      w,
      polynomial(w, {-1.99999999998764832476e-01, -1.11111104054623557880e-01,
                     -7.69187620504482999495e-02, -5.83357013379057348645e-02,
                     -3.65315727442169155270e-02}));
  Value part = mul(reduced, add(odd, even));
  Value result = sub(high, sub(sub(part, low), reduced));
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, x);
  return select(isNumber, withSign(result, x), x);
}

Value Arithmetic::arcTangent(Value y, Value x) {
  const double infinity = std::numeric_limits<double>::infinity();
  Value tall = magnitude(y), wide = magnitude(x);
  Value angle = arcTangent(div(tall, wide));
  // Neither is told by the ratio.
  Value bothZero = op<arith::AndIOp>(isEqual(tall, 0.0), isEqual(wide, 0.0));
  Value bothInfinite =
      op<arith::AndIOp>(isEqual(tall, infinity), isEqual(wide, infinity));
  angle = select(bothZero, real(0.0), angle);
  angle = select(bothInfinite, real(M_PI_4), angle);
  constexpr double piLow = 1.2246467991473531772e-16;
  Value mirrored = sub(real(M_PI), sub(angle, real(piLow)));
  Value isLeft = compare(arith::CmpIPredicate::slt,
                         to<arith::BitcastOp>(i64(), x), integer(0));
  Value result = withSign(select(isLeft, mirrored, angle), y);
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, y);
  return select(isNumber, result, add(x, y));
}

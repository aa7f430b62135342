//===- Hyperbolics.cpp - hyperbolic functions and inverses ----------------===//
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

/// From here on e^-x does not count beside e^x.
static constexpr double large = 22.0;

Value Arithmetic::hyperbolicSine(Value x) {
  Value absolute = magnitude(x);
  Value below = exponentialMinusOne(absolute);
  Value result = mul(add(below, div(below, add(below, real(1.0)))), real(0.5));
  // e^x may be infinite where its half is not.
  Value part = exponential(mul(absolute, real(0.5)));
  result =
      select(isLess(absolute, large), result, mul(mul(part, real(0.5)), part));
  return withSign(select(isLess(absolute, 0x1p-28), absolute, result), x);
}

Value Arithmetic::hyperbolicCosine(Value x) {
  Value absolute = magnitude(x);
  Value whole = exponential(absolute);
  Value result = add(mul(whole, real(0.5)), div(real(0.5), whole));
  Value part = exponential(mul(absolute, real(0.5)));
  return select(isLess(absolute, large), result,
                mul(mul(part, real(0.5)), part));
}

Value Arithmetic::hyperbolicTangent(Value x) {
  Value absolute = magnitude(x);
  Value below = exponentialMinusOne(add(absolute, absolute));
  Value result = div(below, add(below, real(2.0)));
  Value isLarge = compare(arith::CmpFPredicate::OGE, absolute, real(large));
  result = select(isLarge, real(1.0), result);
  return withSign(select(isLess(absolute, 0x1p-28), absolute, result), x);
}

Value Arithmetic::areaSine(Value x) {
  Value absolute = magnitude(x), square = mul(absolute, absolute);
  Value inner =
      add(absolute, div(square, add(root(add(square, real(1.0))), real(1.0))));
  Value far = add(logarithm(absolute), real(M_LN2));
  Value result =
      select(isLess(absolute, 0x1p28), logarithmOfOnePlus(inner), far);
  return withSign(select(isLess(absolute, 0x1p-28), absolute, result), x);
}

Value Arithmetic::areaCosine(Value x) {
  Value above = sub(x, real(1.0));
  Value inner = add(above, root(fma(above, above, add(above, above))));
  Value far = add(logarithm(x), real(M_LN2));
  Value isFar = compare(arith::CmpFPredicate::OGE, x, real(0x1p28));
  Value result = select(isFar, far, logarithmOfOnePlus(inner));
  Value isDefined = compare(arith::CmpFPredicate::OGE, x, real(1.0));
  return select(isDefined, result,
                real(std::numeric_limits<double>::quiet_NaN()));
}

Value Arithmetic::areaTangent(Value x) {
  Value absolute = magnitude(x);
  Value ratio = div(add(absolute, absolute), sub(real(1.0), absolute));
  Value result = mul(logarithmOfOnePlus(ratio), real(0.5));
  return withSign(select(isLess(absolute, 0x1p-28), absolute, result), x);
}

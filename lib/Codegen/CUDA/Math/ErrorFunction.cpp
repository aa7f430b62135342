//===- ErrorFunction.cpp - erf and erfc -----------------------------------===//
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

/// fdlibm's approximations: rational functions on four pieces.
Value Arithmetic::errorFunction(Value x, bool complement) {
  Value absolute = magnitude(x);
  Value square = mul(x, x);
  auto ratio = [&](Value at, ArrayRef<double> top, ArrayRef<double> bottom) {
    return div(polynomial(at, top), polynomial(at, bottom));
  };
  // Up to 27/32: x + x y.
  Value y = ratio(square,
                  {1.28379167095512558561e-01, -3.25042107247001499370e-01,
                   -2.84817495755985104766e-02, -5.77027029648944159157e-03,
                   -2.37630166566501626084e-05},
                  {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02,
                   5.08130628187576562776e-03, 1.32494738004321644526e-04,
                   -3.96022827877536812320e-06});
  // Up to 5/4: around 1.
  Value around =
      ratio(sub(absolute, real(1.0)),
            {-2.36211856075265944077e-03, 4.14856118683748331666e-01,
             -3.72207876035701323847e-01, 3.18346619901161753674e-01,
             -1.10894694282396677476e-01, 3.54783043256182359371e-02,
             -2.16637559486879084300e-03},
            {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01,
             7.18286544141962662868e-02, 1.26171219808761642112e-01,
             1.36370839120290507362e-02, 1.19844998467991074170e-02});
  constexpr double atOne = 8.45062911510467529297e-01;
  // Above: e^(-x^2 - 0.5625 + r) / x, with e's argument in two parts.
  constexpr double most = 28.0;
  Value bounded = op<arith::MinimumFOp>(
      op<arith::MaximumFOp>(absolute, real(1.0)), real(most));
  Value s = div(real(1.0), mul(bounded, bounded));
  Value middle =
      ratio(s,
            {-9.86494403484714822705e-03, -6.93858572707181764372e-01,
             -1.05586262253232909814e+01, -6.23753324503260060396e+01,
             -1.62396669462573470355e+02, -1.84605092906711035994e+02,
             -8.12874355063065934246e+01, -9.81432934416914548592e+00},
            {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02,
             4.34565877475229228821e+02, 6.45387271733267880336e+02,
             4.29008140027567833386e+02, 1.08635005541779435134e+02,
             6.57024977031928170135e+00, -6.04244152148580987438e-02});
  Value far = ratio(s,
                    {-9.86494292470009928597e-03, -7.99283237680523006574e-01,
                     -1.77579549177547519889e+01, -1.60636384855821916062e+02,
                     -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                     -4.83519191608651397019e+02},
                    {1.0, 3.03380607434824582924e+01,
                     3.25792512996573918826e+02, 1.53672958608443695994e+03,
                     3.19985821950859553908e+03, 2.55305040643316442583e+03,
                     4.74528541206955367215e+02, -2.24409524465858183362e+01});
  Value r = select(isLess(absolute, 1.0 / 0.35), middle, far);
  Value z = leading(bounded);
  Value low = fma(sub(z, bounded), add(z, bounded), r);
  Value head =
      sub(arith::NegFOp::create(builder, loc, mul(z, z)), real(0.5625));
  Value tail = div(mul(exponential(head), exponential(low)), bounded);
  Value isNumber = compare(arith::CmpFPredicate::ORD, x, x);
  Value isNear = isLess(absolute, 0.84375), isMiddle = isLess(absolute, 1.25);
  if (!complement) {
    Value large =
        select(isLess(absolute, 6.0), sub(real(1.0), tail), real(1.0));
    Value result =
        withSign(select(isMiddle, add(around, real(atOne)), large), x);
    result = select(isNear, fma(x, y, x), result);
    return select(isNumber, result, x);
  }
  Value isLeft = isLess(x, 0.0);
  Value small = select(isLess(x, 0.25), sub(real(1.0), fma(x, y, x)),
                       sub(real(0.5), fma(x, y, sub(x, real(0.5)))));
  Value aroundOne = select(isLeft, add(real(1.0), add(real(atOne), around)),
                           sub(sub(real(1.0), real(atOne)), around));
  tail = select(isLess(absolute, most), tail, real(0.0));
  Value large = select(isLeft, sub(real(2.0), tail), tail);
  Value result = select(isNear, small, select(isMiddle, aroundOne, large));
  return select(isNumber, result, x);
}

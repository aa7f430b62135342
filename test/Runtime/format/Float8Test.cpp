//===- Float8Test.cpp - floats of eight bits ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the formats' definitions, by values, and against the nearest of all
// 256 numbers.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/DataType.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tp::runtime;

namespace {
struct Format {
  DataType type;
  int mantissaBits, bias;
  bool hasInfinity, unsignedZero;
};
constexpr Format formats[] = {{DataType::F8E4M3FN, 3, 7, false, false},
                              {DataType::F8E5M2, 2, 15, true, false},
                              {DataType::F8E4M3FNUZ, 3, 8, false, true},
                              {DataType::F8E5M2FNUZ, 2, 16, false, true}};

double definedValue(const Format &format, int code) {
  int mantissa = code & ((1 << format.mantissaBits) - 1);
  int exponent = (code & 0x7f) >> format.mantissaBits;
  int largest = 0x7f >> format.mantissaBits;
  double sign = code & 0x80 ? -1 : 1;
  if (format.unsignedZero && code == 0x80)
    return NAN;
  if (!format.unsignedZero && format.hasInfinity && exponent == largest)
    return mantissa ? NAN : sign * INFINITY;
  if (!format.unsignedZero && !format.hasInfinity && (code & 0x7f) == 0x7f)
    return NAN;
  double fraction = std::ldexp(mantissa, -format.mantissaBits);
  return exponent == 0
             ? sign * std::ldexp(fraction, 1 - format.bias)
             : sign * std::ldexp(1 + fraction, exponent - format.bias);
}

/// The code whose number is nearest to `value`, the even one of two.
int nearest(const Format &format, float value) {
  std::map<double, int> codes;
  for (int code = 0; code < 128; ++code)
    if (double number = definedValue(format, code); std::isfinite(number))
      codes[number] = code;
  double size = std::fabs(double(value));
  auto last = std::prev(codes.end());
  double step = last->first - std::prev(last)->first;
  int sign = std::signbit(value) ? 0x80 : 0;
  // What rounds to the number after the largest does not fit.
  bool oddLargest = last->second & 1;
  double limit = last->first + step / 2;
  int overflow = format.unsignedZero  ? 0x80
                 : format.hasInfinity ? 0x7c | sign
                                      : 0x7f | sign;
  if (size > limit || (size == limit && oddLargest))
    return overflow;
  int best = 0;
  double distance = INFINITY;
  for (auto [number, code] : codes) {
    double d = std::fabs(number - size);
    if (d < distance || (d == distance && code % 2 == 0))
      distance = d, best = code;
  }
  return format.unsignedZero && best == 0 ? 0 : best | sign;
}
} // namespace

TEST(Float8Test, EveryNumber) {
  for (const Format &format : formats)
    for (int code = 0; code < 256; ++code) {
      double wanted = definedValue(format, code);
      float got = float8ToFloat(format.type, code);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << spelling(format.type) << " " << code;
        EXPECT_TRUE(std::isnan(
            float8ToFloat(format.type, floatToFloat8(format.type, got))));
        continue;
      }
      EXPECT_EQ(got, wanted) << spelling(format.type) << " " << code;
      EXPECT_EQ(std::signbit(got), std::signbit(wanted));
      EXPECT_EQ(floatToFloat8(format.type, got), code) << spelling(format.type);
      uint8_t byte = code;
      EXPECT_EQ(elementAsDouble(format.type, &byte, 0), wanted);
    }
}

TEST(Float8Test, RoundsToTheNearest) {
  std::mt19937 random(7);
  for (const Format &format : formats) {
    auto check = [&](float value) {
      ASSERT_EQ(floatToFloat8(format.type, value), nearest(format, value))
          << spelling(format.type) << " " << value;
    };
    // All midpoints, and what lies beside them.
    for (int code = 0; code < 127; ++code) {
      double a = definedValue(format, code), b = definedValue(format, code + 1);
      if (!std::isfinite(a) || !std::isfinite(b))
        continue;
      float middle = float((a + b) / 2);
      for (float value : {middle, std::nextafter(middle, 0.0f),
                          std::nextafter(middle, 1e9f)}) {
        check(value);
        check(-value);
      }
    }
    for (float value :
         {0.0f, -0.0f, 464.0f, 465.0f, 480.0f, 240.0f, 248.0f, 61440.0f,
          61439.0f, 1e30f, -1e30f, INFINITY, 1e-30f, -1e-30f, 1e-45f})
      check(value);
    for (int i = 0; i < 20000; ++i) {
      uint32_t bits = random();
      float value;
      std::memcpy(&value, &bits, 4);
      if (!std::isnan(value))
        check(value);
      check(std::ldexp(float(int32_t(random())), -int(random() % 44)));
    }
  }
}

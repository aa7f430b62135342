//===- ResultSummary.cpp - a result in one line ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultSummary.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace tp::run;
using namespace tp::runtime;

static std::string text(double value) {
  // Its sign means nothing.
  if (std::isnan(value))
    return "nan";
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.6g", value);
  return digits;
}

/// Integers exactly: an id of a token is no measurement.
static std::string element(const Array &array, int64_t index) {
  if (isFloat(array.dtype))
    return text(elementAsDouble(array.dtype, array.data, index));
  int64_t value = elementAsInteger(array.dtype, array.data, index);
  return isUnsigned(array.dtype) ? std::to_string(uint64_t(value))
                                 : std::to_string(value);
}

std::string tp::run::summary(const std::string &name, const Array &array) {
  constexpr int64_t mostListed = 8;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least = infinity, most = -infinity, sum = 0;
  int64_t count = array.elements(), nan = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = elementAsDouble(array.dtype, array.data, i);
    if (std::isnan(value)) {
      ++nan;
      continue;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  std::string line = name + ": " + describeType(array);
  if (count > nan)
    line += ", min " + text(least) + ", max " + text(most) + ", mean " +
            text(sum / double(count - nan));
  if (nan > 0)
    line += ", " + std::to_string(nan) + " NaN";
  line += ": [";
  for (int64_t i = 0; i < std::min(count, mostListed); ++i)
    line += (i ? ", " : "") + element(array, i);
  return line + (count > mostListed ? ", ...]" : "]");
}

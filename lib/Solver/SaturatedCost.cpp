//===- SaturatedCost.cpp - costs with a largest one -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/SaturatedCost.h"
#include <algorithm>
#include <cmath>

using namespace tp;

int64_t tp::saturatingAdd(int64_t a, int64_t b) {
  return std::min(a + b, saturatedCost);
}

int64_t tp::saturatingRound(double value) {
  if (!(value > 0))
    return 0;
  if (value >= static_cast<double>(saturatedCost))
    return saturatedCost;
  return static_cast<int64_t>(std::llround(value));
}

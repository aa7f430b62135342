//===- Identity.cpp - how partial values combine --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Identity.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

/// -0.0, or 0.0 in a format that has no other zero.
static double leastZero(Type type) {
  auto real = dyn_cast<FloatType>(type);
  return real && APFloat::getZero(real.getFloatSemantics(), /*Negative=*/true)
                     .isNegative()
             ? -0.0
             : 0.0;
}

Scalar simulator::identityOf(ReductionKind kind, Type elementType) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool isInteger = !isa<FloatType>(elementType);
  unsigned width = isInteger ? integerWidth(elementType) : 64;
  // i1 is kept as 0 and 1; or and and are its max and min.
  int64_t lowest =
      width == 1 ? 0 : std::numeric_limits<int64_t>::min() >> (64 - width);
  int64_t highest = width == 1 ? 1 : ~lowest;
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    // 0.0 would turn the other ranks' -0.0 into 0.0.
    return {leastZero(elementType), 0};
  case ReductionKind::Product:
    return {1, 1};
  case ReductionKind::Max:
    return {-infinity, lowest};
  case ReductionKind::Min:
    return {infinity, highest};
  }
  llvm_unreachable("unknown reduction kind");
}

static double combineReals(ReductionKind kind, double a, double b) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return a + b;
  case ReductionKind::Product:
    return a * b;
  case ReductionKind::Max:
  case ReductionKind::Min:
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<double>::quiet_NaN();
    // Zeros compare equal, but -0.0 is the lesser one.
    if (a == b)
      return (kind == ReductionKind::Max) == std::signbit(a) ? b : a;
    return (kind == ReductionKind::Max) == (a > b) ? a : b;
  }
  llvm_unreachable("unknown reduction kind");
}

static int64_t combineIntegers(ReductionKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                static_cast<uint64_t>(b));
  case ReductionKind::Product:
    return static_cast<int64_t>(static_cast<uint64_t>(a) *
                                static_cast<uint64_t>(b));
  case ReductionKind::Max:
    return std::max(a, b);
  case ReductionKind::Min:
    return std::min(a, b);
  }
  llvm_unreachable("unknown reduction kind");
}

Scalar simulator::combine(ReductionKind kind, Scalar a, Scalar b,
                          Type elementType) {
  if (isa<FloatType>(elementType))
    return {roundTo(combineReals(kind, a.real, b.real), elementType), 0};
  return {0, wrapTo(combineIntegers(kind, a.integer, b.integer), elementType)};
}

Scalar simulator::finishAverage(ReductionKind kind, Scalar sum, int64_t count,
                                Type elementType) {
  if (kind != ReductionKind::Avg)
    return sum;
  if (isa<FloatType>(elementType))
    return {roundTo(sum.real / static_cast<double>(count), elementType), 0};
  return {0, sum.integer / count};
}

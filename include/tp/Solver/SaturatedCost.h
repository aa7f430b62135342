//===- SaturatedCost.h - costs with a largest one ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs are integers that saturate, so that sums of them are compared exactly
// and equally on every host.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SOLVER_SATURATEDCOST_H
#define TP_SOLVER_SATURATEDCOST_H

#include <cstdint>

namespace tp {

/// Larger than every cost; sums stop here.
inline constexpr int64_t saturatedCost = int64_t(1) << 60;

int64_t saturatingAdd(int64_t a, int64_t b);
/// `value` rounded to the nearest integer, within [0, saturatedCost].
int64_t saturatingRound(double value);

} // namespace tp

#endif // TP_SOLVER_SATURATEDCOST_H

//===- ResultSummary.h - a result in one line -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_RESULTSUMMARY_H
#define TP_TOOLS_TP_RUN_DATA_RESULTSUMMARY_H

#include "tp/Runtime/Array.h"
#include <string>

namespace tp::run {

/// "y: f32[2, 3], min -1.5, max 2, mean 0.25, 1 NaN: [0.5, 1, ...]". NaN counts
/// in none of the numbers.
std::string summary(const std::string &name, const runtime::Array &array);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_RESULTSUMMARY_H

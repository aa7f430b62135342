//===- Explanation.h - why there are collectives ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The explanation of a program's collectives, made from a report (Report.h)
// with causes (docs/explain.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_EXPLANATION_H
#define TP_PIPELINES_EXPLANATION_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {

/// Collectives of one step, by some name: a kind, a module.
struct TrafficTotal {
  /// `implicit`: those that no plan entry asks for, as far as the report has
  /// causes. `ringBytes` are those a rank sends.
  int64_t count = 0, implicit = 0, ringBytes = 0;
  double microseconds = 0;
};
/// The totals of a report's collectives by the value of their field `key`, in
/// the order of first appearance.
std::vector<std::pair<std::string, TrafficTotal>>
trafficBy(llvm::StringRef key, const llvm::json::Object &report);
/// The sum of all.
TrafficTotal trafficOf(const llvm::json::Object &report);

/// `{"mesh", "hardware", "collectives", "modules", "total"}`. The caller may add
/// `other_plans`, a text on changed plans that were tried.
llvm::json::Object makeExplanation(const llvm::json::Object &report);
void writeExplanationText(const llvm::json::Object &explanation,
                          llvm::raw_ostream &os);

} // namespace tp

#endif // TP_PIPELINES_EXPLANATION_H

//===- ReportDifference.h - what two compilations do otherwise --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_REPORTDIFFERENCE_H
#define TP_PIPELINES_REPORTDIFFERENCE_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {

/// Prints how `after` differs from `before`, two reports (Report.h) of one
/// model: collectives by kind and by module, in all, time and memory per rank.
/// All tables but the last omit equal rows. Returns whether anything differs.
bool writeDifference(const llvm::json::Object &before,
                     const llvm::json::Object &after, llvm::raw_ostream &os);

} // namespace tp

#endif // TP_PIPELINES_REPORTDIFFERENCE_H

//===- Report.h - what a compilation did ------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report is JSON (docs/report.md); text and HTML show the same data. The
// commands of a rank come from the program's manifest, the bindings of the
// plan from the module.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_REPORT_H
#define TP_PIPELINES_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CompiledManifest.h"
#include "tp/Sharding/Hardware.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {

/// `{"mesh", "bindings", "layouts", "unnamed", "collectives", "memory",
/// "cost"}`, and `"modules"` where there are collectives; `bindings` is the
/// module's `tp.bindings` (null: no plan), `compiled` what the artifact says of
/// the program. Times are those of `hardware`.
llvm::json::Object makeReport(mlir::Attribute bindings,
                              const CompiledManifest &compiled,
                              const Hardware &hardware);

/// Of a rank that has all entries: weights once, and the arena of the entry that
/// needs most.
runtime::MemoryPlan memoryOfRank(const runtime::Manifest &manifest);

void writeReportText(const llvm::json::Object &report, llvm::raw_ostream &os);
void writeReportHTML(const llvm::json::Object &report, llvm::raw_ostream &os);

} // namespace tp

#endif // TP_PIPELINES_REPORT_H

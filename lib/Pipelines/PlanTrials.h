//===- PlanTrials.h - what a changed plan would send ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An explanation advises only what was tried: a plan with the advised entry
// compiles, and sends no more bytes than the plan without it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_PLANTRIALS_H
#define TP_LIB_PIPELINES_PLANTRIALS_H

#include "TrialPartition.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// What an advice adds to a plan.
struct PlanEdit {
  /// Of the plan that it is for.
  std::string axis;
  /// An entry, or an option of entries.
  std::string text;
  /// The entries that get the option, as `file:line:column`; empty for a new
  /// entry.
  std::vector<std::string> at;
};

class PlanTrials {
public:
  /// `model`: before tp-legalize.
  PlanTrials(mlir::ModuleOp model, const PartitionOptions &options);

  /// What a rank sends under the plan with `edits`, or nothing: it does not
  /// compile, or as many plans as may be tried have been.
  std::optional<int64_t> ringBytes(llvm::ArrayRef<PlanEdit> edits);

private:
  bool apply(const PlanEdit &edit, mlir::ModuleOp plans) const;

  mlir::ModuleOp model;
  PartitionOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> plans;
  unsigned tried = 0;
};

/// Tries all advice in the collectives of `report`. One entry with `*` stands
/// for entries of many layers where that sends no more; advice that sends more
/// is taken out.
void tryAdvice(llvm::json::Object &report, PlanTrials &trials);

} // namespace tp

#endif // TP_LIB_PIPELINES_PLANTRIALS_H

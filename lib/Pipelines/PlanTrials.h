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
#include "tp/IR/TP.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// What an advice adds to a plan.
struct PlanEdit {
  /// Of a new entry.
  std::string axis;
  /// An entry, or an option of entries; may be empty where `style` is not.
  std::string text;
  /// The entries that get the option, as `file:line:column`; empty for a new
  /// entry.
  std::vector<std::string> at;
  /// The style that these entries get, with no layouts but those of `text`.
  std::string style = {};
  /// Whether these entries go instead.
  bool removes = false;
};

class PlanTrials {
public:
  /// `model`: before tp-legalize.
  PlanTrials(mlir::ModuleOp model, const PartitionOptions &options);

  /// What a rank sends under the plan with `edits`, or nothing: it does not
  /// compile, or as many plans as may be tried have been.
  std::optional<int64_t> ringBytes(llvm::ArrayRef<PlanEdit> edits);
  /// The partition under the plan with `edits`, on the same terms.
  std::optional<TrialPartition> partition(llvm::ArrayRef<PlanEdit> edits);
  /// The partition under the plan as it is; if collectives that no entry asks
  /// for are an error and it has some, with them.
  std::optional<TrialPartition> unchanged();

  /// The entry of the plan at `file:line:column`, or null.
  ParallelizeOp entryAt(llvm::StringRef place) const;
  /// The entry for a port that the edit's own entry, one for the same port, is
  /// written in place of, as `file:line:column`; empty if there is none.
  std::string replacedBy(const PlanEdit &edit) const;
  /// All entries for modules, as `file:line:column`.
  std::vector<std::string> places() const;
  /// Plans that may still be tried.
  unsigned left() const { return most - tried; }
  mlir::ModuleOp program() const { return model; }

private:
  static bool apply(const PlanEdit &edit, mlir::ModuleOp plans);
  /// Adds new entries.
  static bool add(const PlanEdit &edit, mlir::ModuleOp plans);
  /// How many entries of the plan are those that the edit changes; nothing
  /// where it cannot.
  static std::optional<size_t> change(const PlanEdit &edit, PlanOp plan);

  mlir::ModuleOp model;
  PartitionOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> plans;
  unsigned tried = 0, most = 0;
};

/// Tries all advice in the collectives of `report`. One entry with `*` stands
/// for entries of many layers where that sends no more; in place of advice that
/// sends more stands how much.
void tryAdvice(llvm::json::Object &report, PlanTrials &trials);

} // namespace tp

#endif // TP_LIB_PIPELINES_PLANTRIALS_H

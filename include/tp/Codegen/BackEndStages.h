//===- BackEndStages.h - decisions on what a rank runs ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stages from a rank's function on tensors to its scheduled program, which
// both targets share. This is the one list of them: a compilation runs their
// functions, --dump-stages and tp-opt their passes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_BACKENDSTAGES_H
#define TP_CODEGEN_BACKENDSTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp::target {
struct TargetTraits;

/// What the passes of a target are made with.
struct BackEndOptions {
  /// "cpu" or "cuda".
  std::string target;
  /// The limit of what one step of an attention computes, in bytes.
  int64_t scoreBytes = 0;
};

/// The functions of all entries of a module, which a stage may replace.
using EntryFunctions = llvm::SmallVector<mlir::func::FuncOp>;

struct BackEndStage {
  /// Its pass without `tp-`; --dump-stages names what it leaves so.
  llvm::StringRef name;
  std::unique_ptr<mlir::Pass> (*createPass)(const BackEndOptions &options);
  /// What the pass does to functions that an earlier stage has made, which it
  /// need not verify. Fails with a located error.
  mlir::LogicalResult (*run)(EntryFunctions &functions,
                             const TargetTraits &traits);
  /// It works on functions on tensors, one layer like the other.
  bool isOnTensors = false;
  /// Only targets whose kernels leave out rows have it.
  bool isOfRows = false;
};

/// Those of form-attention, skip-rows, recompute-elements, assign-storage,
/// form-scatters, form-kernels, update-in-place, schedule and write-parts that
/// the target has, in this order. tp-plan-memory comes after them.
llvm::SmallVector<BackEndStage> backEndStages(const TargetTraits &traits);
/// Those of target "cpu" or "cuda"; none of another.
llvm::SmallVector<BackEndStage> backEndStages(llvm::StringRef target);

/// Forgets what `module` says of stages that have run: of a text it is not
/// known to be so.
void forgetStagesRun(mlir::ModuleOp module);

} // namespace tp::target

#endif // TP_CODEGEN_BACKENDSTAGES_H

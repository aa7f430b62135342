//===- PlanFile.h - reads a plan --------------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PLANFILE_H
#define TP_LIB_TRANSFORMS_PLAN_PLANFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/IR/CustomOps.h"

namespace tp {

/// The plans of one mesh, at most one per axis and each for one axis, and that
/// mesh with the sizes the user asked for. An optional plan for an axis that
/// the mesh has not is left out.
struct PlanFile {
  mlir::OwningOpRef<mlir::ModuleOp> file;
  llvm::SmallVector<PlanOp> plans;
  llvm::SmallVector<RuleOp> rules;
  MeshAttr mesh;
};

/// Reads the file at `path` (or makes the plan that is a word), or with an
/// empty path the plans inside `model`; rules are those beside the plans.
/// Errors are located in the plan.
mlir::FailureOr<PlanFile> readPlan(mlir::ModuleOp model, llvm::StringRef path,
                                   llvm::StringRef meshSizes);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PLANFILE_H

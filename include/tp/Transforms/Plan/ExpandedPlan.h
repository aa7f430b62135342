//===- ExpandedPlan.h - a plan without styles of whole models ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_EXPANDEDPLAN_H
#define TP_TRANSFORMS_PLAN_EXPANDEDPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tp {

/// The text of a plan file, with the entries that styles of whole models stand
/// for in `model` in their place. Every entry has its location in the plan.
/// Empty if the plan has no such style. `legalize` makes a copy of `model` a
/// legal program.
mlir::FailureOr<std::string>
expandedPlan(llvm::StringRef plan, llvm::StringRef mesh, mlir::ModuleOp model,
             llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp)> legalize);

} // namespace tp

#endif // TP_TRANSFORMS_PLAN_EXPANDEDPLAN_H

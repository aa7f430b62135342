//===- ApplyRules.h - sharding rules of a plan file -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_APPLYRULES_H
#define TP_LIB_TRANSFORMS_PLAN_APPLYRULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/CustomOps.h"

namespace tp {

/// Gives the ops of `functions` that `rules` name their rules; ops of dialects
/// that MLIR knows become tp.custom. A rule that names no op, or one that has a
/// rule, is an error.
mlir::LogicalResult applyRules(llvm::ArrayRef<RuleOp> rules,
                               llvm::ArrayRef<mlir::func::FuncOp> functions);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_APPLYRULES_H

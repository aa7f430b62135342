//===- ModelStyles.h - styles of whole models become entries ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELSTYLES_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELSTYLES_H

#include "PlanFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Puts the entries that they stand for in place of `transformer` and
/// `data_parallel`, for all functions together. What another entry of the plan
/// names is left to it.
mlir::LogicalResult expandModelStyles(llvm::ArrayRef<PlanOp> plans,
                                      llvm::ArrayRef<mlir::func::FuncOp> all);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELSTYLES_H

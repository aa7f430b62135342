//===- OwnPlan.h - models that bring a plan, or have none -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_OWNPLAN_H
#define TP_LIB_PIPELINES_OWNPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Pipelines/Compile.h"

namespace tp {
/// The annotations of the dialect `shard` in `model` become a plan in the
/// module. `location` is for errors of the options.
llvm::LogicalResult importAnnotations(mlir::ModuleOp model,
                                      const CompileOptions &options,
                                      mlir::Location location);

/// Fails if an option is about a plan: the model and the options have none.
llvm::LogicalResult checkWithoutPlan(const CompileOptions &options,
                                     mlir::Location location);
} // namespace tp

#endif // TP_LIB_PIPELINES_OWNPLAN_H

//===- OwnPlan.h - plans that are no file of entries ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_OWNPLAN_H
#define TP_LIB_PIPELINES_OWNPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Files/TemporaryFile.h"
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

/// A plan with styles of a whole model, as a file of the entries that they
/// stand for, which goes when this does.
class ExpandedPlanFile {
public:
  /// Makes the file, if `options.plan` has such a style, and puts it in the
  /// plan's place.
  llvm::LogicalResult replacePlan(mlir::ModuleOp model,
                                  PartitionOptions &options);

private:
  TemporaryFile file;
};
} // namespace tp

#endif // TP_LIB_PIPELINES_OWNPLAN_H

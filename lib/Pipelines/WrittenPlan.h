//===- WrittenPlan.h - the plan of what tp chose, as a file -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_WRITTENPLAN_H
#define TP_LIB_PIPELINES_WRITTENPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Pipelines/Pipelines.h"

namespace tp {

/// The plan under which `model` is partitioned as `options` do, as text: module
/// by module where that gives the same layouts of arguments and results and
/// sends as many bytes, else port by port. A warning says where neither does.
/// `partitioned` is the model, partitioned under these options. For the output
/// `torch:FILE` it is Python.
mlir::FailureOr<std::string> writtenPlan(mlir::ModuleOp model,
                                         mlir::ModuleOp partitioned,
                                         PartitionOptions options,
                                         llvm::StringRef output,
                                         mlir::Location loc);

/// Of `torch:FILE` the file, else `output`.
llvm::StringRef writtenPlanFile(llvm::StringRef output);

} // namespace tp

#endif // TP_LIB_PIPELINES_WRITTENPLAN_H

//===- TrialPartition.cpp - a partition made for its numbers --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrialPartition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

FailureOr<TrialPartition> tp::measurePartition(ModuleOp partitioned) {
  TrialPartition trial;
  for (auto function : partitioned.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      trial.layouts.push_back(function.getArgAttr(i, attr::layout));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      trial.layouts.push_back(function.getResultAttr(i, attr::layout));
  }
  OwningOpRef<ModuleOp> copy = partitioned.clone();
  FailureOr<ProgramStatistics> planned = planMemoryForCPU(*copy);
  if (failed(planned))
    return failure();
  trial.rank = *planned;
  return trial;
}

FailureOr<TrialPartition> tp::tryPartition(ModuleOp model,
                                           const PartitionOptions &options) {
  MLIRContext *context = model.getContext();
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = model.clone();
  PassManager manager(context);
  buildPartitionPipeline(manager, options);
  if (failed(manager.run(*copy)))
    return failure();
  return measurePartition(*copy);
}

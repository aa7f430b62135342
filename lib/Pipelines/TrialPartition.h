//===- TrialPartition.h - a partition made for its numbers ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_TRIALPARTITION_H
#define TP_LIB_PIPELINES_TRIALPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CPU/CompileForCPU.h"
#include "tp/Pipelines/Pipelines.h"

namespace tp {

/// The bytes that one rank's program holds and sends, the time of its step, and
/// the layouts of arguments and results.
struct TrialPartition {
  ProgramStatistics rank;
  /// By the model of docs/hardware.md: products, attentions, what commands read
  /// and write, and collectives, one after the other.
  int64_t picoseconds = 0;
  /// Of all arguments, then all results.
  std::vector<mlir::Attribute> layouts;
};

/// Partitions a copy of `model` under `options`; reports no errors.
mlir::FailureOr<TrialPartition> tryPartition(mlir::ModuleOp model,
                                             const PartitionOptions &options);
/// The same of a program that has been partitioned, on `hardware`, a file or a
/// name.
mlir::FailureOr<TrialPartition> measurePartition(mlir::ModuleOp partitioned,
                                                 llvm::StringRef hardware);

} // namespace tp

#endif // TP_LIB_PIPELINES_TRIALPARTITION_H

//===- ModelEntries.h - the entries of a whole model ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a user would write by hand for the blocks of a transformer: a style for
// every linear layer, for tables and, with sequence parallelism, for norms.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELENTRIES_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELENTRIES_H

#include "Names/ModuleTree.h"
#include "WholeModel/BlockStructure.h"
#include "tp/IR/PortNames.h"

namespace tp {

/// One entry of a plan, of one module or port.
struct ModelEntry {
  enum Kind { Module, Parameter, Argument, Result };
  Kind kind;
  std::string name;
  /// `colwise {output_layouts = [replicate]}`, or the layout of a port.
  std::string text;
  /// Why the entry keeps something whole that tp has no place for.
  std::string reason;
  /// Whether sequence parallelism would shard the stream here, but the entry is
  /// of a weight alone, which has no inputs and outputs.
  bool leavesSequence = false;
};

struct TransformerOptions {
  bool sequenceParallel = false, lossParallel = false;
  /// Modules outside of it get no entry.
  llvm::StringRef scope;
};

/// The entries of `transformer` for a function, in the order of its arguments
/// and results. Empty if the function has no blocks.
std::vector<ModelEntry> transformerEntries(mlir::func::FuncOp function,
                                           const ModuleTree &tree,
                                           const TransformerOptions &options);

/// Whether sequence parallelism has a sequence to split in a function, or the
/// function has no blocks.
bool hasSequence(mlir::func::FuncOp function);

/// The entries of `data_parallel`: a shard of the batch of every input that has
/// it. Empty if no input has a batch.
std::vector<ModelEntry> batchEntries(mlir::func::FuncOp function);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_MODELENTRIES_H

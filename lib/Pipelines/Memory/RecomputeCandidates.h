//===- RecomputeCandidates.h - what may be computed again -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_MEMORY_RECOMPUTECANDIDATES_H
#define TP_LIB_PIPELINES_MEMORY_RECOMPUTECANDIDATES_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tp {

/// Patterns of modules, as entries of a plan have them, none of which lies in
/// another.
using ModulePatterns = llvm::SmallVector<std::string>;

/// The modules of a model with a backward pass that may be computed again,
/// outer ones first: all layers of one place (`layers.*`), all parts of one
/// name in them (`layers.*.attention`), and together all modules of such a
/// part that have none inside (`layers.*.attention.wq` and its siblings, which
/// often read one gather). Empty for a model without backward pass.
std::vector<ModulePatterns> recomputeCandidates(mlir::ModuleOp model);

/// Whether a module that `one` names may lie in one that `other` names, or be
/// it, or the other way round.
bool mayOverlap(llvm::StringRef one, llvm::StringRef other);

} // namespace tp

#endif // TP_LIB_PIPELINES_MEMORY_RECOMPUTECANDIDATES_H

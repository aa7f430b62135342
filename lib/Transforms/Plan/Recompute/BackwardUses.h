//===- BackwardUses.h - who reads a module's values again -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_RECOMPUTE_BACKWARDUSES_H
#define TP_LIB_TRANSFORMS_PLAN_RECOMPUTE_BACKWARDUSES_H

#include "ModuleIndex.h"
#include "Names/ModuleTree.h"
#include "tp/IR/ModuleLocation.h"

namespace tp {

/// Whether `op` is of the backward pass of `module`.
inline bool isInBackwardOf(mlir::Operation *op, llvm::StringRef module) {
  llvm::StringRef name = moduleOf(op->getLoc());
  return name.consume_front("bwd:") && isInside(name, module);
}

/// The ops of the module's forward pass in the block of the function.
llvm::SmallVector<mlir::Operation *> forwardOps(mlir::func::FuncOp function,
                                                const ModuleIndex &index,
                                                llvm::StringRef module);

/// The gather that a plan asks for in front of a module, and the views behind
/// it, if it makes `value`: the last op first. Empty otherwise.
llvm::SmallVector<mlir::Operation *> gatherBefore(mlir::Value value);

/// What a gather gathers, by all names that pins give it.
llvm::SmallVector<mlir::Value> gatheredBy(mlir::Operation *gather);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_RECOMPUTE_BACKWARDUSES_H

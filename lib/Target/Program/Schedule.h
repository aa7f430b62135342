//===- Schedule.h - forming the loop nests of a kernel ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TARGET_PROGRAM_SCHEDULE_H
#define TP_LIB_TARGET_PROGRAM_SCHEDULE_H

#include "Stage.h"

namespace tp::target {

/// Makes a kernel of stages whose `slots` agree: orders loops, merges stages
/// into bundles, and finds scratch values that need no memory.
std::unique_ptr<Group> finishGroup(StoragePlan &plan,
                                   llvm::ArrayRef<Stage *> stages,
                                   llvm::DenseSet<mlir::Value> &forwarded);

/// True for a reduction over a dim other than the one along which its operands
/// are contiguous, large enough for the order of loops to matter.
bool isColumnwise(const StoragePlan &plan, const Stage &stage);

/// `exprs` over the dims of the kernel: row loops first, then bundle loops.
Indices overKernelDims(const Stage &stage,
                       llvm::ArrayRef<mlir::AffineExpr> exprs,
                       unsigned numSlots);

} // namespace tp::target

#endif // TP_LIB_TARGET_PROGRAM_SCHEDULE_H

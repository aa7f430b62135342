//===- Schedule.h - forming the loop nests of a kernel ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_SCHEDULE_H
#define TP_LIB_CODEGEN_KERNELS_SCHEDULE_H

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

/// The rows of a stage that joins a group.
struct CommonRows {
  /// The slots of the group that go on being its rows, and the dims of the
  /// stage that run along them.
  llvm::SmallVector<unsigned> kept, slots;
};

/// None if `stage` cannot or should not run in the rows of `members`, which are
/// a group that it may be ordered into.
std::optional<CommonRows> commonRows(const StoragePlan &plan,
                                     llvm::ArrayRef<Stage *> members,
                                     const Stage &stage);

/// The dims of a fresh group's rows: parallel and worth a loop.
llvm::SmallVector<unsigned> parallelDims(const Stage &stage);

/// `exprs` over the dims of the kernel: row loops first, then bundle loops.
Indices overKernelDims(const Stage &stage,
                       llvm::ArrayRef<mlir::AffineExpr> exprs,
                       unsigned numSlots);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_SCHEDULE_H

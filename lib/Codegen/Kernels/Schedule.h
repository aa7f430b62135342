//===- Schedule.h - forming the loop nests of a kernel ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_SCHEDULE_H
#define TP_LIB_CODEGEN_KERNELS_SCHEDULE_H

#include "FusedKernel.h"

namespace tp::target {

/// Makes a kernel of compute loops whose `slots` agree: orders loops, merges
/// compute loops into loop nests, and finds scratch values that need no memory.
std::unique_ptr<FusedKernel>
finishFusedKernel(const StoredValues &plan,
                  llvm::ArrayRef<ComputeLoop *> computeLoops);

/// True for a reduction over a dim other than the one along which its operands
/// are contiguous, large enough for the order of loops to matter.
bool isColumnwise(const StoredValues &plan, const ComputeLoop &computeLoop);

/// The rows of a compute loop that joins a kernel.
struct CommonRows {
  /// The slots of the kernel that go on being its rows, and the dims of the
  /// compute loop that run along them.
  llvm::SmallVector<unsigned> kept, slots;
};

/// None if `computeLoop` cannot or should not run in the rows of `members`,
/// which are a kernel that it may be ordered into.
std::optional<CommonRows> commonRows(const StoredValues &plan,
                                     llvm::ArrayRef<ComputeLoop *> members,
                                     const ComputeLoop &computeLoop);

/// The dims of a fresh kernel's rows: parallel and worth a loop.
llvm::SmallVector<unsigned> parallelDims(const ComputeLoop &computeLoop);

/// `exprs` over the dims of the kernel: row loops first, then the loops of the
/// loop nest.
Indices overKernelDims(const ComputeLoop &computeLoop,
                       llvm::ArrayRef<mlir::AffineExpr> exprs,
                       unsigned numSlots);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_SCHEDULE_H

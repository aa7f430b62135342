//===- LoopMask.h - which iterations of a reduction count -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a reduction loop is split unevenly, the partition lets an iteration
// beyond the rank's end leave the accumulator as it is: which iterations count
// depends on the rank alone and is known here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_GEMM_LOOPMASK_H
#define TP_LIB_CODEGEN_GEMM_LOOPMASK_H

#include "Storage/Storage.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tp::target {

/// Of the reduction loops that `mask` shortens the iterations that count; none
/// if others than the first ones do, or if more than ranks and one loop decide.
/// Adds the ops of the body that the mask is made of to `matched`.
std::optional<llvm::SmallVector<LoopPrefix, 1>>
prefixesOf(mlir::linalg::LinalgOp op, mlir::Value mask,
           llvm::SmallPtrSetImpl<mlir::Operation *> &matched);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_GEMM_LOOPMASK_H

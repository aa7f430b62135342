//===- Prepare.h - before dimensions are refined ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_NORMALIZE_PREPARE_H
#define TP_LIB_TRANSFORMS_NORMALIZE_PREPARE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Decomposes linalg ops that are not loop nests (softmax, pack, unpack). An op
/// that it does not handle is an error that names it.
mlir::LogicalResult decompose(mlir::func::FuncOp function);

/// Named linalg ops but fill become generics; dead results of generics go;
/// splat constants move into the bodies that read them; inits and the remaining
/// splats get one user each, so that a shared one does not make dimensions
/// correspond.
mlir::LogicalResult prepare(mlir::func::FuncOp function);

/// Splits lookups off: a generic that is not linear in the elements it looks up
/// at computed indices gets them from a generic of their own.
void splitLookups(mlir::func::FuncOp function);

/// Sums of values that are zero but for a part each become concatenations.
void joinPaddedParts(mlir::func::FuncOp function);

/// Slices that take every n-th element of a dimension take a part of each group
/// of n, where n divides the dimension.
void pairStridedSlices(mlir::func::FuncOp function);

/// Reductions of f16 or bf16 by sum or product accumulate in f32 and round
/// once.
void widenSums(mlir::func::FuncOp function);

/// Erases ops without effects or uses.
void eraseDeadOps(mlir::func::FuncOp function);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_NORMALIZE_PREPARE_H

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

/// Linalg ops that are no loop nests (softmax, pack, unpack) become the ops
/// they stand for; what is not handled is an error that names it.
mlir::LogicalResult decompose(mlir::func::FuncOp function);

/// Named linalg ops but fill become generics; dead results of generics go;
/// splat constants move into the bodies that read them; inits and the splats
/// that are left get one user each, so that sharing them ties no dimensions
/// together.
mlir::LogicalResult prepare(mlir::func::FuncOp function);

/// Generics that are not linear in what they look up at computed places of a
/// table leave the lookup to a generic of its own.
void splitLookups(mlir::func::FuncOp function);

/// Generics that add or multiply up f16 or bf16 do so in f32 and round once.
void widenSums(mlir::func::FuncOp function);

/// Erases ops without effects or uses.
void eraseDeadOps(mlir::func::FuncOp function);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_NORMALIZE_PREPARE_H

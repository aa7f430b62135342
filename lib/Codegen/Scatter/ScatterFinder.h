//===- ScatterFinder.h - reductions that are scatters -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program says what a scatter writes by a reduction over all updates: an
// element takes an update where its index equals the update's place, and else
// stays. So every element asks every update, of which few or none are for it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCATTER_SCATTERFINDER_H
#define TP_LIB_CODEGEN_SCATTER_SCATTERFINDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tp::target {
struct TargetTraits;

/// Parallel loops of a reduction, of whose iterations one alone changes the
/// accumulators, and its number: as the operands of `tp.compute`.
struct Scatter {
  llvm::SmallVector<int64_t> loops;
  llvm::SmallVector<mlir::Value> places;
};

/// The scattered loops of `op`, a linalg op with reductions on tensors; none
/// are left where the body does not compare indices, or changes accumulators in
/// other iterations too. Places are computed where `builder` stands.
Scatter findScatter(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op);

/// Notes on the compute loops of a program, each alone in its kernel, which of
/// them are scatters.
mlir::LogicalResult formScatters(mlir::func::FuncOp program,
                                 const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCATTER_SCATTERFINDER_H

//===- Scatter.h - reductions that write at places in data ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scatter is a reduction whose result asks each iteration whether it writes
// here. In its explicit form the body compares the index of a loop with an
// operand, the place, and keeps what it has elsewhere:
//
//   %hit = arith.cmpi eq, %index, %place : index
//   %next = arith.select %hit, %written, %old : f32
//   linalg.yield %next : f32
//
// So an iteration may go to its place at once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCATTER_SCATTER_H
#define TP_LIB_CODEGEN_SCATTER_SCATTER_H

#include "Kernels/FusedKernel.h"

namespace tp::target {

/// A loop of a linalg op that its body compares with a place.
struct PlacedLoop {
  unsigned loop;
  mlir::OpOperand *place;
};

/// The loops of `op` that have places; none if it is not in the explicit form.
llvm::SmallVector<PlacedLoop> placedLoops(mlir::linalg::LinalgOp op);

/// Whether to run over what is written rather than over the result: `extents`
/// are the loops', of which `scattered` do not run then.
bool scatteringPays(llvm::ArrayRef<int64_t> extents,
                    llvm::ArrayRef<bool> reduces,
                    llvm::ArrayRef<unsigned> scattered,
                    const TargetTraits &traits);

/// Writes the scatters of `function` in the explicit form, where that pays.
/// Returns how many there are.
unsigned formScatters(mlir::func::FuncOp function, const TargetTraits &traits);

/// The loops of a compute loop that may be scattered: those of the form that
/// addresses do not cut.
llvm::SmallVector<ScatteredLoop>
scatteredLoops(const ComputeLoop &computeLoop);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCATTER_SCATTER_H

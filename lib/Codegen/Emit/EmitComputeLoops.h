//===- EmitComputeLoops.h - code of a kernel's stages -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_EMIT_EMITCOMPUTELOOPS_H
#define TP_LIB_CODEGEN_EMIT_EMITCOMPUTELOOPS_H

#include "ElementEmitter.h"

namespace tp::target {

/// Emits the innermost body of a loop nest's loops: every compute loop once,
/// with the accumulators of all reductions one after the other. Returns the
/// next ones. `over` rewrites expressions over a compute loop's dims to the
/// kernel's.
llvm::SmallVector<mlir::Value>
emitComputeLoops(ElementEmitter &emitter, const FusedKernel &fusedKernel,
                 const LoopNest &loopNest,
                 llvm::ArrayRef<mlir::Value> accumulators,
                 llvm::function_ref<Indices(const ComputeLoop &,
                                            llvm::ArrayRef<mlir::AffineExpr>)>
                     over);

/// Whether all accumulators of a reduction start as what their memory holds
/// already: those of a state that the result updates. `over` is as above.
bool startsInPlace(const ElementEmitter &emitter,
                   const ComputeLoop &computeLoop,
                   llvm::function_ref<Indices(const ComputeLoop &,
                                              llvm::ArrayRef<mlir::AffineExpr>)>
                       over);

/// The address of an element of one row of `computeLoop`'s target number
/// `target`: dims along row loops take no room. `elements`: how many a row has.
mlir::AffineMap rowAddress(const ComputeLoop &computeLoop, unsigned target,
                           int64_t &elements);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_EMIT_EMITCOMPUTELOOPS_H

//===- EmitStages.h - code of a kernel's stages -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_EMIT_EMITSTAGES_H
#define TP_LIB_CODEGEN_EMIT_EMITSTAGES_H

#include "ElementEmitter.h"

namespace tp::target {

/// Emits the innermost body of a bundle's loops: every stage once, with the
/// accumulators of all reductions one after the other. Returns the next ones.
/// `over` gives expressions over a stage's loops as those over the kernel's.
llvm::SmallVector<mlir::Value> emitStages(
    ElementEmitter &emitter, const Schedule &schedule, const Bundle &bundle,
    llvm::ArrayRef<mlir::Value> accumulators,
    llvm::function_ref<Indices(const Stage &, llvm::ArrayRef<mlir::AffineExpr>)>
        over);

/// The address of an element of one row of `stage`'s target number `target`:
/// dims along row loops take no room. `elements`: how many a row has.
mlir::AffineMap rowAddress(const Stage &stage, unsigned target,
                           int64_t &elements);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_EMIT_EMITSTAGES_H

//===- BuildProgram.h - decisions of code generation as ops -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_BUILDPROGRAM_H
#define TP_LIB_CODEGEN_PROGRAM_BUILDPROGRAM_H

#include "CommandList.h"

namespace tp::target {

/// Replaces `function`, on tensors, by the rank's program that `plan` and
/// `list` describe: allocations and commands in order, one kernel for each
/// compute loop. Returns the new function, of the same name and attributes.
mlir::func::FuncOp buildProgram(mlir::func::FuncOp function,
                                const StoragePlan &plan, const Schedule &list);

/// Builds the body of a `tp.kernel` of one compute loop. Reads and writes are
/// the stored values that the kernel's operands hold, in order.
void buildKernelBody(mlir::OpBuilder &builder, const StoragePlan &plan,
                     const ComputeLoop &computeLoop,
                     llvm::ArrayRef<mlir::Value> reads,
                     llvm::ArrayRef<mlir::Value> writes, mlir::Block *block);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_BUILDPROGRAM_H

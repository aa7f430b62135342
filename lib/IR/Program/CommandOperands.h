//===- CommandOperands.h - operands of commands -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IR_PROGRAM_COMMANDOPERANDS_H
#define TP_LIB_IR_PROGRAM_COMMANDOPERANDS_H

#include "tp/IR/Program.h"

namespace tp {

using Effects = mlir::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Fails, with an error, at an operand without one stride per dimension.
mlir::LogicalResult verifyStrided(mlir::Operation *op);

inline mlir::ArrayRef<int64_t> shapeOf(mlir::Value buffer) {
  return mlir::cast<mlir::MemRefType>(buffer.getType()).getShape();
}

inline mlir::Type elementOf(mlir::Value buffer) {
  return mlir::cast<mlir::MemRefType>(buffer.getType()).getElementType();
}

/// The op reads all operands but `written`.
void addOtherReads(mlir::OpOperand &written, Effects &effects);

} // namespace tp

#endif // TP_LIB_IR_PROGRAM_COMMANDOPERANDS_H

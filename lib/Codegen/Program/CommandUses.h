//===- CommandUses.h - the memory that commands use -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_PROGRAM_COMMANDUSES_H
#define TP_LIB_CODEGEN_PROGRAM_COMMANDUSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace tp::target {

/// The memory that a command of a program's block uses: roots of views. The
/// steps of an attention count as the attention's.
struct CommandUses {
  llvm::SmallSetVector<mlir::Value, 4> reads, writes;
};
CommandUses usesOf(mlir::Operation *command);

/// Whether an assertion within the op may fail.
bool hasCheck(mlir::Operation *op);

/// Whether `op` is a command of a program's block, or of an attention's steps.
bool isTopCommand(mlir::Operation *op);

/// Puts the commands of `block`, all of them, in this order. Memory and views
/// stand before the command that uses them first.
void putInOrder(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> commands);

/// The commands of a program's block, an attention with its steps as one.
llvm::SmallVector<mlir::Operation *> topCommandsOf(mlir::func::FuncOp program);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_PROGRAM_COMMANDUSES_H

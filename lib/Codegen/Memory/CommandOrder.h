//===- CommandOrder.h - the orders that commands may run in -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_MEMORY_COMMANDORDER_H
#define TP_LIB_CODEGEN_MEMORY_COMMANDORDER_H

#include "Program/CommandUses.h"

namespace tp::target {

/// The commands of a program as a graph: what a command writes of an allocation
/// comes before those that use it after, as in the text. Commands are numbered
/// as in the text.
class CommandOrder {
public:
  explicit CommandOrder(mlir::func::FuncOp program);

  llvm::ArrayRef<mlir::Operation *> commands() const { return ops; }
  const CommandUses &uses(unsigned command) const { return allUses[command]; }

  /// Asks for commands[first] before commands[last], in every pair; the latter
  /// and what depends on it move to a later place where necessary. Returns a
  /// pair whose first command depends on its last, and then changes nothing.
  using Pair = std::pair<unsigned, unsigned>;
  std::optional<Pair> require(llvm::ArrayRef<Pair> pairs);

  /// The commands that write `root`, or a view of it.
  llvm::ArrayRef<unsigned> writersOf(mlir::Value root) const;

  /// Every command that reads `old` with every other one that writes `next`.
  llvm::SmallVector<Pair> readsBeforeWrites(mlir::Value old,
                                            mlir::Value next) const;

  /// Puts the commands of the block into the order, if it is another one.
  void apply();

private:
  bool putBefore(unsigned first, unsigned last);

  mlir::func::FuncOp program;
  llvm::SmallVector<mlir::Operation *> ops;
  std::vector<CommandUses> allUses;
  /// The commands that read or write some memory.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> readers, writers;
  /// The commands that come after a command.
  std::vector<llvm::SmallVector<unsigned, 4>> next;
  /// The commands in order, and the place of each.
  std::vector<unsigned> order, place;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_MEMORY_COMMANDORDER_H

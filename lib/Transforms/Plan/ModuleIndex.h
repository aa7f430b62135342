//===- ModuleIndex.h - what of a function is whose --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binding needs the same facts about every module. One walk over the function
// collects them all, so that binding takes time linear in the program.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_MODULEINDEX_H
#define TP_LIB_TRANSFORMS_PLAN_MODULEINDEX_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include <map>
#include <optional>

namespace tp {

class ModuleIndex {
public:
  explicit ModuleIndex(mlir::func::FuncOp function);

  /// The module an op belongs to; a pin belongs to the module it is for.
  static std::optional<llvm::StringRef> owner(mlir::Operation *op);
  static bool belongsTo(mlir::Operation *op, llvm::StringRef module);

  /// True if the module has an op.
  bool holdsOp(llvm::StringRef module) const {
    return holders.contains(module);
  }
  /// The argument or the value of graph node `node`, or null.
  mlir::Value valueOf(llvm::StringRef node) const {
    return values.lookup(node);
  }
  /// The ops of a module that take or make tensors, in no particular order.
  llvm::SmallVector<mlir::Operation *> opsIn(llvm::StringRef module) const;
  /// True for a value that no argument reaches: an iota, a mask.
  bool isIndexComputation(mlir::Value value);
  /// True for a value that buffers and constants alone determine: the cosines
  /// of rotary embeddings.
  bool isBufferComputation(mlir::Value value);

  /// Registers `pin`, which was inserted after its source.
  void addPin(mlir::Operation *pin);
  /// Registers `copy`, which was inserted right after `original`.
  void addCopy(mlir::Operation *original, mlir::Operation *copy);

private:
  void addHolder(llvm::StringRef module);
  void addOp(mlir::Operation *op, llvm::StringRef module);
  /// Both of one result.
  void addLike(mlir::Value known, mlir::Value added);
  using Values = llvm::DenseSet<mlir::Value>;
  /// What these arguments and no others reach.
  Values reachOf(llvm::ArrayRef<mlir::BlockArgument> arguments);

  mlir::func::FuncOp function;
  /// Sorted: what is in a module has names next to each other.
  std::map<llvm::StringRef, llvm::SmallVector<mlir::Operation *>> ops;
  llvm::DenseSet<llvm::StringRef> holders;
  llvm::StringMap<mlir::Value> values;
  /// What arguments reach, and those that are no buffers and no constants. Only
  /// models without a module table need it.
  std::optional<Values> reached, reachedByData;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_MODULEINDEX_H

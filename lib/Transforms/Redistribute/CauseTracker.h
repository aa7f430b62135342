//===- CauseTracker.h - what collectives are for ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_REDISTRIBUTE_CAUSETRACKER_H
#define TP_LIB_TRANSFORMS_REDISTRIBUTE_CAUSETRACKER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tp {

/// Moves `tp.causes` from the ops that make values to the layout changes of
/// these values, as `tp.cause` (tp/IR/CauseAttributes.h), and adds the uses
/// that a change is for. Does nothing in programs without causes.
class CauseTracker {
public:
  explicit CauseTracker(mlir::func::FuncOp func) : func(func) {}

  /// Takes the causes off the argument or op.
  void take(mlir::BlockArgument argument);
  void take(mlir::Operation *op);
  /// `user` takes `version` instead of `asked`, by its operand `operand` or in
  /// its region. All changes that lead to `version` are for it.
  void serve(mlir::Value asked, mlir::Value version, mlir::Operation *user,
             mlir::OpOperand *operand);
  /// `outer`, which changes what `inner` makes, does the work of both; `inner`
  /// will be erased.
  void join(mlir::Operation *inner, mlir::Operation *outer);
  /// `change` will be erased.
  void drop(mlir::Operation *change) { changes.erase(change); }
  /// Puts the attributes on the changes.
  void write();

private:
  struct Made {
    llvm::SetVector<mlir::Attribute> uses, changes;
  };
  void take(mlir::Value value, mlir::Attribute list);

  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::DictionaryAttr>> causes;
  llvm::MapVector<mlir::Operation *, Made> changes;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_REDISTRIBUTE_CAUSETRACKER_H

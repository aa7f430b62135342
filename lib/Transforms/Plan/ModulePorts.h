//===- ModulePorts.h - values at a module's boundary ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ports of modules that have no parameter to follow. The exporter's table
// names the graph node of every port; without it the values that cross the
// module's boundary by location are candidates.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_MODULEPORTS_H
#define TP_LIB_TRANSFORMS_PLAN_MODULEPORTS_H

#include "ModuleIndex.h"
#include "Names/ModuleTree.h"
#include "ParameterUse.h"

namespace tp {

struct Port {
  mlir::Value value;
  /// Input: the uses inside the module. Output: the uses of the value outside
  /// it.
  llvm::SmallVector<mlir::OpOperand *> uses;
  PortView view;
};

class ModulePorts {
public:
  ModulePorts(mlir::func::FuncOp function, const ModuleTree &tree,
              ModuleIndex &index)
      : function(function), tree(tree), index(index) {}

  /// Port number `number` of the module; `entry` is where errors point to.
  mlir::FailureOr<Port> input(llvm::StringRef module, unsigned number,
                              mlir::Operation *entry);
  /// What the module reads in place of an input that it does not read: what
  /// the exporter computes from it once for several modules, if buffers alone
  /// determine that. Several inputs of a kind are not told apart.
  llvm::SmallVector<Port> sharedInput(llvm::StringRef module, unsigned number);
  mlir::FailureOr<Port> output(llvm::StringRef module, unsigned number,
                               mlir::Operation *entry);

private:
  /// Uses of `value` in the module; a shared view of it that the module reads
  /// too is copied for the module.
  llvm::SmallVector<mlir::OpOperand *> usesInside(mlir::Value value,
                                                  llvm::StringRef module);
  /// Values that the module reads and does not make. `withBuffers`: also the
  /// buffers of other modules.
  llvm::SmallVector<mlir::Value> readBy(llvm::StringRef module,
                                        bool withBuffers);
  /// Values that the module makes and others read.
  llvm::SmallVector<mlir::Value> madeBy(llvm::StringRef module);
  /// Sorts in the program's order.
  void sortByPosition(llvm::SmallVectorImpl<mlir::Value> &values);
  /// What the table names as other ports is no candidate for this one.
  void dropOtherPorts(llvm::SmallVectorImpl<mlir::Value> &candidates,
                      llvm::ArrayRef<CallValue> ports, unsigned number);
  mlir::FailureOr<mlir::Value> resolve(llvm::StringRef module, unsigned number,
                                       bool isInput, mlir::Operation *entry);

  mlir::func::FuncOp function;
  const ModuleTree &tree;
  ModuleIndex &index;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_MODULEPORTS_H

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

#include "ModuleTree.h"
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
  ModulePorts(mlir::func::FuncOp function, const ModuleTree &tree)
      : function(function), tree(tree) {}

  /// Port number `index` of the module; `entry` is where errors point to.
  mlir::FailureOr<Port> input(llvm::StringRef module, unsigned index,
                              mlir::Operation *entry);
  mlir::FailureOr<Port> output(llvm::StringRef module, unsigned index,
                               mlir::Operation *entry);
  /// True if some op stands in the module.
  bool holdsOp(llvm::StringRef module);
  /// The module an op belongs to; a pin belongs to the module it is for.
  static std::optional<llvm::StringRef> owner(mlir::Operation *op);

private:
  /// The argument or the value of graph node `node`, or null.
  mlir::Value valueOf(llvm::StringRef node);
  /// Uses of `value` in the module; a shared view of it that the module reads
  /// too is copied for the module.
  llvm::SmallVector<mlir::OpOperand *> usesInside(mlir::Value value,
                                                  llvm::StringRef module);
  llvm::SmallVector<mlir::Value> crossing(llvm::StringRef module, bool inward);
  mlir::FailureOr<mlir::Value> resolve(llvm::StringRef module, unsigned index,
                                       bool isInput, mlir::Operation *entry);

  mlir::func::FuncOp function;
  const ModuleTree &tree;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_MODULEPORTS_H

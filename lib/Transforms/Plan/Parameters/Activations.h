//===- Activations.h - what the inputs of a program reach -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ACTIVATIONS_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ACTIVATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {

/// The values of a function's own block that depend on what calls of the
/// program give, or on what another part of its entry hands on. All others are
/// computed from parameters, buffers and constants alone.
class Activations {
public:
  /// `weights`: arguments that are known not to.
  explicit Activations(
      mlir::func::FuncOp function,
      const llvm::SmallDenseSet<mlir::BlockArgument> &weights = {});

  /// A value of another block is taken for one that depends on them.
  bool contains(mlir::Value value) const {
    return value.getParentBlock() != block || values.contains(value);
  }

private:
  mlir::Block *block;
  llvm::DenseSet<mlir::Value> values;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_ACTIVATIONS_H

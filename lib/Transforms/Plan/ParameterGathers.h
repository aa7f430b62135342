//===- ParameterGathers.h - parameters brought together ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERGATHERS_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERGATHERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/TP.h"

namespace tp {

/// A parameter that is stored as shards on the axis of its entry's plan.
struct FullyShardedParameter {
  /// The number of the argument.
  unsigned argument;
  FullyShardOp entry;
  /// The module whose parameters are gathered together with it.
  std::string module;
};

/// Puts a tp.constrain to replicate, with `attr::gather`, between every
/// parameter and the ops that compute with it: one before the module's first
/// use of any of its parameters in the forward pass and, unless the entry keeps
/// what it gathered, one in the backward pass. The optimizer keeps the shards.
void insertGathers(mlir::func::FuncOp function, MeshAttr mesh,
                   llvm::ArrayRef<FullyShardedParameter> parameters);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERGATHERS_H

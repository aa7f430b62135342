//===- LinalgShardingRules.h - rules of linalg ops --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERFACES_LINALGSHARDINGRULES_H
#define TP_LIB_INTERFACES_LINALGSHARDINGRULES_H

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "tp/Interfaces/LocalOpBuilder.h"

namespace tp {
/// The one rule of all structured linalg ops, and the op of one rank.
mlir::FailureOr<ShardingRule> linalgShardingRule(mlir::linalg::LinalgOp op);
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
createLocalLinalg(mlir::Operation *op, LocalOpBuilder &local);
/// The loop whose index `value` is, looking through casts that keep it.
std::optional<unsigned> linalgLoopIndexOf(mlir::Value value);
} // namespace tp

#endif // TP_LIB_INTERFACES_LINALGSHARDINGRULES_H

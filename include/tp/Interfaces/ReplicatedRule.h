//===- ReplicatedRule.h - ops that every rank does whole --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_REPLICATEDRULE_H
#define TP_INTERFACES_REPLICATEDRULE_H

#include "tp/Interfaces/LocalOpBuilder.h"

namespace tp {
/// A rule without factors: all tensors are replicated.
ShardingRule replicatedRule(mlir::Operation *op);

/// The rule of `op`, and the replicated one for an op that has none and whose
/// strategy is to be replicated on all axes. Emits an error otherwise.
mlir::FailureOr<ShardingRule> ruleUnder(mlir::Operation *op,
                                        const Strategy &strategy);

/// The rank's version of a replicated op: the op itself.
llvm::SmallVector<mlir::Value> createReplicated(LocalOpBuilder &local);
} // namespace tp

#endif // TP_INTERFACES_REPLICATEDRULE_H

//===- ForgottenWeights.h - warnings of weights plans forget ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_WEIGHTS_FORGOTTENWEIGHTS_H
#define TP_LIB_PIPELINES_WEIGHTS_FORGOTTENWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// Warns of weights that no entry of the plan names and that every rank holds
/// whole, in products that the ranks split: entries split what is around them.
/// A note has the entry that splits the weight. `module` is partitioned.
void warnOfForgottenWeights(mlir::ModuleOp module, mlir::Location location);

} // namespace tp

#endif // TP_LIB_PIPELINES_WEIGHTS_FORGOTTENWEIGHTS_H

//===- IdleRanks.h - warnings of runs that are not parallel -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_IDLERANKS_H
#define TP_LIB_PIPELINES_IDLERANKS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Runtime/Manifest.h"

namespace tp {

/// Warns where a plan for several ranks leaves all the work to each: the
/// model's weights are constants, none has a name, or entries are forgotten.
void warnOfReplicas(mlir::ModuleOp module, mlir::Location location);

/// Warns where ranks have an empty part of every result, and where all ranks
/// along an axis do the same work; remarks which parts of weights that are
/// never cut, as heads, do not divide by the ranks: the step takes as long as
/// the ranks with most of them.
void warnOfIdleRanks(const runtime::Manifest &manifest,
                     mlir::Location location);

} // namespace tp

#endif // TP_LIB_PIPELINES_IDLERANKS_H

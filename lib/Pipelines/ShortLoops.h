//===- ShortLoops.h - loops of a few iterations -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_SHORTLOOPS_H
#define TP_LIB_PIPELINES_SHORTLOOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {
/// Leaves two iterations of every loop of which unrolling would make more than
/// `limit` ops, at places that nothing tells. The program then computes
/// something else, by the same ops of the same shapes: what reads a parameter,
/// and what comes before and behind it, shows in it.
void shortenLoops(mlir::ModuleOp module, int64_t limit);
} // namespace tp

#endif // TP_LIB_PIPELINES_SHORTLOOPS_H

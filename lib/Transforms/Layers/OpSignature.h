//===- OpSignature.h - what an op is, wherever it stands --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_OPSIGNATURE_H
#define TP_LIB_TRANSFORMS_LAYERS_OPSIGNATURE_H

#include "mlir/IR/Operation.h"

namespace tp::layers {

/// True if the ops differ at most in their operands, in their locations, and in
/// the names of their module (of a tp.constrain, and in `tp.reason`). Ignores
/// the numbers of `tp.values`, too.
bool isEqualAcrossLayers(mlir::Operation *a, mlir::Operation *b);

/// A hash that is equal for such ops.
uint64_t hashAcrossLayers(mlir::Operation *op);

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_OPSIGNATURE_H

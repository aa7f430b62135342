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

/// True if the ops differ at most in what they take, in their locations, and in
/// the names by which they speak of their module (of a tp.constrain, and in
/// `tp.reason`); the numbers of `tp.values` are not looked at either.
bool isEqualAcrossLayers(mlir::Operation *a, mlir::Operation *b);

/// Equal for such ops.
uint64_t hashAcrossLayers(mlir::Operation *op);

} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_OPSIGNATURE_H

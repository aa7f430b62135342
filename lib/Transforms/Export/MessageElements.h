//===- MessageElements.h - elements that MPI sends --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_EXPORT_MESSAGEELEMENTS_H
#define TP_LIB_TRANSFORMS_EXPORT_MESSAGEELEMENTS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tp/Sharding/Layout.h"

namespace tp {

/// The type as which elements of type `element` are sent. Upstream lowers
/// messages of f32, f64 and integers of 8, 16, 32 and 64 bits; others are sent
/// as an integer of their size. Null if there is none.
mlir::Type messageType(mlir::Type element);

/// The elements of a tensor as they are sent, and back.
mlir::Value toMessage(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor);
mlir::Value fromMessage(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor,
                        mlir::Type element);

/// True if ranks can combine elements of type `element` by `kind`.
bool canReduce(ReductionKind kind, mlir::Type element);

/// Combines the rows of a tensor of two dimensions, first to last, as the
/// runtime does: narrow floats in f32, averages of f32 in f64.
mlir::Value reduceRows(mlir::ImplicitLocOpBuilder &builder, mlir::Value rows,
                       ReductionKind kind);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_EXPORT_MESSAGEELEMENTS_H

//===- FloatCasts.h - tensors of floats in another type ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_FLOATCASTS_H
#define TP_IR_FLOATCASTS_H

#include "mlir/IR/Builders.h"

namespace tp {
/// The tensor `value` with every element in the float type `type`, which is
/// wider or narrower; itself where its elements have that type.
mlir::Value castElements(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type type);
} // namespace tp

#endif // TP_IR_FLOATCASTS_H

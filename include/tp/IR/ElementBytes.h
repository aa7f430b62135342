//===- ElementBytes.h - what an element takes -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_ELEMENTBYTES_H
#define TP_IR_ELEMENTBYTES_H

#include "mlir/IR/Types.h"

namespace tp {

/// Bytes that an element of this type takes in costs: whole ones; 8 of an index
/// and of what has no size of its own.
int64_t elementBytes(mlir::Type element);

} // namespace tp

#endif // TP_IR_ELEMENTBYTES_H

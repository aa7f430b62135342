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

/// Bytes of one element for costs, rounded up; 8 for an index and for types
/// without a size.
int64_t elementBytes(mlir::Type element);

} // namespace tp

#endif // TP_IR_ELEMENTBYTES_H

//===- LayoutEncoding.h - layouts in types ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_LAYOUTENCODING_H
#define TP_IR_LAYOUTENCODING_H

#include "tp/IR/TP.h"

namespace tp {
/// Gives the tensor `value` a layout as its type's encoding. The attribute of
/// an arith.constant has its result's type and follows.
void setLayout(mlir::Value value, LayoutAttr layout);
} // namespace tp

#endif // TP_IR_LAYOUTENCODING_H

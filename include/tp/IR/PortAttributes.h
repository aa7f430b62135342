//===- PortAttributes.h - what stands on arguments and results --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PORTATTRIBUTES_H
#define TP_IR_PORTATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {
/// Fails, with an error at the argument or function, where an argument or a
/// result has an attribute of tp that is not known or not of its type, or where
/// two arguments have one name and kind, so that no file could feed both.
llvm::LogicalResult verifyPortAttributes(mlir::func::FuncOp function);
} // namespace tp

#endif // TP_IR_PORTATTRIBUTES_H

//===- OpInputs.h - the values an op takes ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_OPINPUTS_H
#define TP_IR_OPINPUTS_H

#include "mlir/IR/Operation.h"

namespace tp {

/// Calls `visit` with each operand of `op`, then with each value from outside
/// of `op` that an op in its regions takes (innermost ops first); ends, and is
/// true, when `visit` is. A value that is taken several times is visited as
/// often.
bool anyInput(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> visit);

/// The values that `anyInput` visits.
llvm::SmallVector<mlir::Value> inputsOf(mlir::Operation *op);

/// Whether `op` comes after all its inputs that its own block defines.
bool isAfterInputs(mlir::Operation *op);

} // namespace tp

#endif // TP_IR_OPINPUTS_H

//===- EvaluateTensor.h - ops that only move elements -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_EVALUATETENSOR_H
#define TP_LIB_INTERPRETER_EVALUATETENSOR_H

#include "tp/IR/CustomOps.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Interpreter/Frame.h"

namespace tp::simulator {
/// Reshapes, slices, concat, pad, constants and the like.
mlir::LogicalResult evaluateTensorOp(mlir::Operation *op, Frame &frame);

/// Calls the linked function of an op that tp does not know.
mlir::LogicalResult evaluateCustom(CustomOp op, Frame &frame);
} // namespace tp::simulator

#endif // TP_LIB_INTERPRETER_EVALUATETENSOR_H

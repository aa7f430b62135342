//===- LowerMath.h - functions of numbers as arithmetic ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_EMIT_LOWERMATH_H
#define TP_LIB_CODEGEN_EMIT_LOWERMATH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace tp::target {

/// In kernels of scf, arith and math: functions of f16 and bf16 go through f32,
/// casts of f8 become arithmetic on bits, and exp, expm1, tanh, erf, log and
/// log1p of f32 polynomials, which are the same on every target. What is left
/// of math is the target's to lower, by `more` patterns or later. Drops what is
/// computed twice.
mlir::LogicalResult
lowerMath(mlir::ModuleOp kernels,
          llvm::function_ref<void(mlir::RewritePatternSet &)> more = nullptr);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_EMIT_LOWERMATH_H

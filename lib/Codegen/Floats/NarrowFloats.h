//===- NarrowFloats.h - roundings to f16 and bf16 ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_FLOATS_NARROWFLOATS_H
#define TP_LIB_CODEGEN_FLOATS_NARROWFLOATS_H

#include "mlir/IR/PatternMatch.h"

namespace tp::target {

/// An f64 as f32 rounded to odd: whatever was cut off shows in the last bit, so
/// that rounding once more gives what rounding once would have.
mlir::Value roundToOdd(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value);

/// Casts to f16 and bf16 that would be rounded twice.
void populateSingleRoundings(mlir::RewritePatternSet &patterns);

/// Arithmetic on bf16 in f32, the rounding in integers; f16 too where an f32 is
/// no intermediate step (fma). To be applied by itself, after all others.
void populateNarrowArithmetic(mlir::RewritePatternSet &patterns);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_FLOATS_NARROWFLOATS_H

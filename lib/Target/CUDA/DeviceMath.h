//===- DeviceMath.h - functions that no instruction computes ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TARGET_CUDA_DEVICEMATH_H
#define TP_LIB_TARGET_CUDA_DEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace tp::cuda {

/// sin, cos, pow, exp2, log2 and log10 of f32, and exp and log of f64, become
/// arithmetic in f64. Of f32 the results are rounded once, of f64 they are a
/// few units in the last place off; special values are C's.
void populateDeviceMath(mlir::RewritePatternSet &patterns);

} // namespace tp::cuda

#endif // TP_LIB_TARGET_CUDA_DEVICEMATH_H

//===- DeviceMath.h - functions that no instruction computes ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MATH_DEVICEMATH_H
#define TP_LIB_CODEGEN_CUDA_MATH_DEVICEMATH_H

#include "mlir/IR/PatternMatch.h"

namespace tp::cuda {

/// Functions that neither an instruction nor the shared approximations of f32
/// compute become arithmetic in f64. Of f32 the results are rounded once, of
/// f64 they are a few units in the last place off (docs/cuda-kernels.md);
/// special values are C's.
void populateDeviceMath(mlir::RewritePatternSet &patterns);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MATH_DEVICEMATH_H

//===- Float8Casts.h - floats of eight bits ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_FLOATS_FLOAT8CASTS_H
#define TP_LIB_CODEGEN_FLOATS_FLOAT8CASTS_H

#include "mlir/IR/PatternMatch.h"

namespace tp::target {

/// The floats of eight bits that can be stored; computing takes a wider type.
bool isFloat8(mlir::Type type);

/// Casts of the f8 types become arithmetic on their bits.
void populateFloat8Casts(mlir::RewritePatternSet &patterns);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_FLOATS_FLOAT8CASTS_H

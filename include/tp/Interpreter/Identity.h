//===- Identity.h - how partial values combine ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_IDENTITY_H
#define TP_INTERPRETER_IDENTITY_H

#include "tp/Interpreter/TensorData.h"
#include "tp/Sharding/Layout.h"

namespace tp::simulator {

/// The number that changes nothing when it is combined: -0.0 (integers: 0), 1,
/// the lowest or the highest. An average has none; its ranks all hold the
/// value.
Scalar identityOf(ReductionKind kind, mlir::Type elementType);

/// `a` and `b` combined, rounded to the element type. Of an average this is
/// the sum; see `finishAverage`.
Scalar combine(ReductionKind kind, Scalar a, Scalar b, mlir::Type elementType);

/// Divides the sum of `count` ranks' numbers for an average.
Scalar finishAverage(ReductionKind kind, Scalar sum, int64_t count,
                     mlir::Type elementType);

} // namespace tp::simulator

#endif // TP_INTERPRETER_IDENTITY_H

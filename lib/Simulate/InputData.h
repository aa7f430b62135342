//===- InputData.h - random inputs of a function ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_INPUTDATA_H
#define TP_SIMULATE_INPUTDATA_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Interpreter/TensorData.h"

namespace tp::simulator {

/// How wild random inputs are. Programs that break an assertion or give NaN on
/// one kind of data get the next.
enum class RandomInputKind {
  /// Floats of both signs; integers of both signs.
  Wild,
  /// Integers are 0 or 1, as in masks.
  Bits,
  /// And floats are positive.
  Positive,
};

/// Random numbers for every argument, the same for the same seed. Floats are
/// small multiples of a power of two, so that short sums of products are exact;
/// integers that reach the index of a tensor.extract lie within the smallest
/// dimension they index.
std::vector<TensorData> drawInputs(mlir::func::FuncOp func, uint64_t seed,
                                   RandomInputKind taste);

/// The smallest dimension that elements of `value` are an index of, followed
/// through casts, selects, element-moving ops and other lookups; nothing where
/// they index none.
std::optional<int64_t> indexBound(mlir::Value value);

} // namespace tp::simulator

#endif // TP_SIMULATE_INPUTDATA_H

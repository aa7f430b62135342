//===- ProgramStatistics.h - what a compiled program takes ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_PROGRAMSTATISTICS_H
#define TP_CODEGEN_PROGRAMSTATISTICS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "tp/Sharding/RingCost.h"
#include <array>
#include <cstdint>
#include <vector>

namespace tp {

/// A value in a rank's memory: of what type, and the op that makes it.
struct HeldValue {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  int64_t bytes;
  mlir::Location location;
};

/// Sizes in bytes per rank.
struct ProgramStatistics {
  int64_t arenaBytes = 0, peakLiveBytes = 0, weightsBytes = 0;
  int64_t constantsBytes = 0, scratchBytes = 0;
  /// The largest values of the arena when the most bytes of it are live,
  /// largest first.
  std::vector<HeldValue> atPeak;
  /// Of all arguments that are read, and of all results.
  int64_t argumentsBytes = 0, resultsBytes = 0;
  /// The bytes that a rank sends on rings.
  int64_t ringBytes = 0;
  /// Floating-point operations of a step's matrix products and attentions, by
  /// the machine's rates for them.
  std::array<double, std::size(allNumberClasses)> operations = {};
  /// The bytes that commands other than collectives read and write.
  double movedBytes = 0;
  /// The bytes that a rank holds at once.
  int64_t heldBytes() const {
    return argumentsBytes + resultsBytes + arenaBytes + constantsBytes +
           scratchBytes;
  }
};

} // namespace tp

#endif // TP_CODEGEN_PROGRAMSTATISTICS_H

//===- MemoryPlan.h - where every value lies --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H
#define TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H

#include "Kernels/FusedKernel.h"

namespace tp::target {

/// Sizes in bytes.
struct MemoryPlan {
  int64_t arenaBytes = 0;
  /// The most bytes of arena values that are live at one command.
  int64_t peakLiveBytes = 0;
  int64_t constantsBytes = 0;
  /// A value that overwrites a dying operand, and that operand.
  llvm::DenseMap<mlir::Value, mlir::Value> overwrites;

  /// The value whose memory `value` takes over, through all generations.
  mlir::Value owner(mlir::Value value) const {
    for (auto it = overwrites.find(value); it != overwrites.end();
         it = overwrites.find(value))
      value = it->second;
    return value;
  }
};

/// A block of bytes that is needed from command `first` to command `last`.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  int64_t offset = 0;
};

/// Gives every block an offset, aligned to `alignment` bytes, such that blocks
/// that live at the same time do not overlap. Returns the bytes of the whole.
int64_t packLifetimes(llvm::MutableArrayRef<Lifetime> blocks,
                      int64_t alignment);

/// Decides which values overwrite which, and sets the offsets of all arena and
/// constant values, multiples of `alignment` bytes.
MemoryPlan planMemory(StoragePlan &plan, const Schedule &schedule,
                      int64_t alignment);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H

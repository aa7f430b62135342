//===- MemoryPlan.h - where every value lies --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H
#define TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H

#include "Program/KernelPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Codegen/ProgramStatistics.h"

namespace tp::target {

/// Sizes in bytes.
struct MemorySizes {
  int64_t arena = 0;
  /// The most bytes of arena values that are live at one command.
  int64_t peakLive = 0;
  /// The largest of these values, largest first.
  std::vector<tp::HeldValue> atPeak;
  int64_t constants = 0;
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

/// Whether `written`, an allocation that `command` writes first, may take the
/// memory of `dying`, which it reads last: each element is read before the one
/// in its place is written. Fails with an error at a kernel that cannot be.
mlir::FailureOr<bool> mayTakeOver(mlir::Operation *command, mlir::Value written,
                                  mlir::Value dying, KernelPlans &kernels);

/// Puts results into the memory of the arguments that they update where that is
/// right, and states the reason on those that are copied. May change the order
/// of commands. Fails with an error at a kernel that cannot be.
mlir::LogicalResult updateInPlace(mlir::func::FuncOp program,
                                  KernelPlans &kernels);

/// Lets compute loops write only those elements of results in place that
/// change, if the target can. Fails with an error at a kernel that cannot be.
mlir::LogicalResult writeParts(mlir::func::FuncOp program,
                               const TargetTraits &traits);

/// Fails with an error at a command that reads an argument after the result in
/// its memory is written.
mlir::LogicalResult checkInPlace(mlir::func::FuncOp program,
                                 KernelPlans &kernels);

/// Decides which allocations take over the memory of another, and sets the
/// offsets of all allocations in the arena and of all constants that are read,
/// multiples of the target's alignment. Fails with an error at a kernel that
/// cannot be.
mlir::FailureOr<MemorySizes> planMemory(mlir::func::FuncOp program,
                                        KernelPlans &kernels,
                                        const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_MEMORY_MEMORYPLAN_H

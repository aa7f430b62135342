//===- KernelGroups.h - which commands become one kernel --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_KERNELGROUPS_H
#define TP_LIB_CODEGEN_KERNELS_KERNELGROUPS_H

#include "Program/Buffers.h"
#include "Program/KernelPlan.h"

namespace tp::target {

/// Commands that become one, in order.
struct KernelGroup {
  llvm::SmallVector<mlir::Operation *, 1> commands;
  /// Those of kernels of one compute loop each, in the values of
  /// `GroupedBlock`; empty for any other command, which is alone.
  llvm::SmallVector<ComputeLoop *, 1> computeLoops;
};

/// The commands of a block in groups. Compute loops are in terms of the buffers
/// that the kernels have as operands.
struct GroupedBlock {
  explicit GroupedBlock(const TargetTraits &traits) : values(traits) {}

  StoredValues values;
  std::vector<std::unique_ptr<ComputeLoop>> computeLoops;
  /// In an order in which they may run.
  std::vector<KernelGroup> groups;
};

/// Decides which kernels of `block` become one, and the order of all commands.
/// `block` is the program's, or that of an attention's steps.
mlir::LogicalResult groupKernels(mlir::Block &block, const Buffers &buffers,
                                 KernelPlans &kernels,
                                 const TargetTraits &traits,
                                 GroupedBlock &grouped);

/// Makes one kernel of a group, in place of its last one. Values in
/// `Space::Scratch` are in no buffer of it.
tp::KernelOp mergeKernels(const StoredValues &values, const KernelGroup &group);

/// Makes one kernel of several where that is right and worth it, and orders the
/// commands of a program. What only one kernel uses needs no memory then.
mlir::LogicalResult formKernels(mlir::func::FuncOp program,
                                const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_KERNELGROUPS_H

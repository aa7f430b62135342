//===- FormKernels.cpp - pass tp-form-kernels -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "KernelGroups.h"
#include "Program/CommandUses.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_FORMKERNELS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

/// Whether only the kernels of `group` use the buffer, an allocation: then it
/// is a row's. A result's is used by the function's return.
static bool isOwn(Value buffer, const KernelGroup &group) {
  return buffer.getDefiningOp<tp::AllocOp>() &&
         llvm::all_of(buffer.getUsers(), [&](Operation *user) {
           return llvm::is_contained(group.commands, user);
         });
}

/// Makes the kernels of a block's groups, and puts all commands in their order.
static LogicalResult formKernels(Block &block, const Buffers &buffers,
                                 const TargetTraits &traits) {
  KernelPlans kernels(traits);
  GroupedBlock grouped(traits);
  if (failed(groupKernels(block, buffers, kernels, traits, grouped)))
    return failure();
  SmallVector<Operation *> commands;
  for (const KernelGroup &group : grouped.groups) {
    SmallVector<Value> own;
    for (const ComputeLoop *computeLoop : group.computeLoops)
      for (Value target : computeLoop->targets)
        if (grouped.values.isStored(target) && isOwn(target, group)) {
          grouped.values.storage(target).space = Space::Scratch;
          own.push_back(target);
        }
    if (group.commands.size() == 1 && own.empty()) {
      commands.push_back(group.commands.front());
      continue;
    }
    commands.push_back(mergeKernels(grouped.values, group));
    for (Value buffer : own)
      buffer.getDefiningOp()->erase();
  }
  // Kernels are formed: nothing joins an earlier one any more.
  for (auto resume : llvm::make_early_inc_range(block.getOps<tp::ResumeOp>()))
    resume.erase();
  putInOrder(block, commands);
  return success();
}

LogicalResult tp::target::formKernels(func::FuncOp program,
                                      const TargetTraits &traits) {
  Buffers buffers(program);
  for (auto attention : program.front().getOps<tp::AttentionOp>())
    if (failed(::formKernels(attention.getSteps().front(), buffers, traits)))
      return failure();
  return ::formKernels(program.front(), buffers, traits);
}

namespace {
struct FormKernelsPass : tp::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    auto form = [](func::FuncOp program, const TargetTraits &traits) {
      for (auto alloc : program.front().getOps<tp::AllocOp>())
        if (alloc.getOffset())
          return LogicalResult(
              alloc.emitOpError("has an offset, expected none: run "
                                "tp-form-kernels before tp-plan-memory"));
      return tp::target::formKernels(program, traits);
    };
    if (failed(changePrograms(getOperation(), target, "tp-form-kernels", form)))
      signalPassFailure();
  }
};
} // namespace

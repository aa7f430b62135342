//===- PlanMemory.cpp - pass tp-plan-memory -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_PLANMEMORY
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
struct PlanMemoryPass : tp::impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;

  static LogicalResult plan(func::FuncOp program, const TargetTraits &traits) {
    KernelPlans kernels(traits);
    WalkResult walk = program.walk([&](tp::KernelOp kernel) {
      return kernels.of(kernel) ? WalkResult::skip() : WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
    return planMemory(program, kernels, traits);
  }

  void runOnOperation() override {
    if (failed(changePrograms(getOperation(), target, "tp-plan-memory", plan)))
      signalPassFailure();
  }
};
} // namespace

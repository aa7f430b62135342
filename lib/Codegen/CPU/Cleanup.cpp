//===- Cleanup.cpp - pass tp-cpu-cleanup ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUStages.h"
#include "tp/Codegen/CPU/CPUPasses.h"

namespace tp {
#define GEN_PASS_DEF_CPUCLEANUP
#include "tp/Codegen/CPU/Passes.h.inc"
} // namespace tp

namespace {
struct CleanupPass : tp::impl::CPUCleanupBase<CleanupPass> {
  void runOnOperation() override {
    tp::target::cleanUp(getOperation(), tp::target::cpuTraits);
  }
};
} // namespace

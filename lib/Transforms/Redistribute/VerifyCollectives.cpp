//===- VerifyCollectives.cpp - no layout change left ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/TP.h"
#include "tp/Transforms/Redistribute/RedistributePasses.h"
#include "tp/Transforms/Redistribute/VerifyMaterialized.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "tp/Transforms/Redistribute/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct VerifyCollectivesPass
    : tp::impl::VerifyCollectivesBase<VerifyCollectivesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLayoutsInTypes(getOperation())))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([](RedistributeOp op) {
      op.emitOpError("is left, expected none after tp-insert-collectives");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

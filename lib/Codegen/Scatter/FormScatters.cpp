//===- FormScatters.cpp - pass tp-form-scatters ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "Elements/ViewAnalysis.h"
#include "Program/CommandUses.h"
#include "ScatterFinder.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/Program.h"

namespace tp {
#define GEN_PASS_DEF_FORMSCATTERS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

/// The reduction of a compute loop that is alone in its kernel; null else. What
/// other ops check has to be checked in all iterations.
static linalg::LinalgOp reductionAlone(tp::ComputeOp compute) {
  Block &kernel = *compute->getBlock();
  auto op = compute.getValues().front().getDefiningOp<linalg::LinalgOp>();
  bool isFree = compute.getBuffers().size() == compute.getValues().size() &&
                compute.getStarts().empty() && compute.getPlaces().empty() &&
                llvm::hasSingleElement(kernel.getOps<tp::ComputeOp>());
  if (!isFree || !op || isElementwise(op) ||
      llvm::any_of(kernel, [&](Operation &other) {
        return &other != op && hasCheck(&other);
      }))
    return {};
  return op;
}

LogicalResult tp::target::formScatters(func::FuncOp program,
                                       const TargetTraits &) {
  program.walk([&](tp::ComputeOp compute) {
    linalg::LinalgOp op = reductionAlone(compute);
    if (!op)
      return;
    OpBuilder builder(compute);
    Scatter scatter = findScatter(builder, op);
    if (scatter.loops.empty())
      return;
    compute.setRows({});
    compute.setScattered(scatter.loops);
    compute.getPlacesMutable().assign(scatter.places);
  });
  return success();
}

namespace {
struct FormScattersPass : tp::impl::FormScattersBase<FormScattersPass> {
  using FormScattersBase::FormScattersBase;

  void runOnOperation() override {
    if (failed(changePrograms(getOperation(), target, "tp-form-scatters",
                              formScatters)))
      signalPassFailure();
  }
};
} // namespace

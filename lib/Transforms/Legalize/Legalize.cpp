//===- Legalize.cpp - the forms that tp works on --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/IR/CustomOps.h"

namespace tp {
#define GEN_PASS_DEF_LEGALIZE
#define GEN_PASS_DEF_VERIFYLEGAL
#include "tp/Transforms/Legalize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct LegalizePass : tp::impl::LegalizeBase<LegalizePass> {
  LogicalResult legalize() {
    ModuleOp module = getOperation();
    if (failed(legalize::loadConstantGlobals(module)))
      return failure();
    FailureOr<SmallVector<func::FuncOp>> entries =
        legalize::findEntries(module);
    if (failed(entries) || failed(legalize::inlineCalls(module, *entries)))
      return failure();
    for (func::FuncOp entry : *entries)
      if (failed(legalize(entry)))
        return failure();
    return success();
  }

  LogicalResult legalize(func::FuncOp entry) {
    if (failed(legalize::checkAttributes(entry)))
      return failure();
    // Several blocks are refused by name later.
    if (!entry.getBody().hasOneBlock() ||
        !isa<func::ReturnOp>(entry.getBody().front().getTerminator()))
      return success();
    if (failed(legalize::readResources(entry)) ||
        failed(legalize::writeAffineAsArith(entry)) ||
        failed(legalize::dropSignedness(entry)))
      return failure();
    legalize::resolveArguments(entry);
    if (failed(legalize::flattenControl(entry)))
      return failure();
    legalize::makePortsTensors(entry);
    legalize::dropEmptyTensors(entry);
    if (failed(legalize::writeAsLinalg(entry)))
      return failure();
    if (failed(legalize::splitComplex(entry)))
      return failure();
    legalize::dropEmptyTensors(entry);
    legalize::dropUnusedEmptyTensors(entry);
    legalize::splitScalarResults(entry);
    legalize::writeRoundingModes(entry);
    legalize::dropPermissions(entry);
    legalize::narrowProducts(entry);
    // Ops of dialects that are not registered.
    for (Operation &op : llvm::make_early_inc_range(entry.front()))
      if (!op.isRegistered() && failed(makeCustom(&op)))
        return failure();
    return success();
  }

  void runOnOperation() override {
    if (failed(legalize()))
      signalPassFailure();
  }
};

struct VerifyLegalPass : tp::impl::VerifyLegalBase<VerifyLegalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(legalize::verifyLegal(getOperation())))
      signalPassFailure();
  }
};
} // namespace

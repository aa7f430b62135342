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

/// A hash of all that the ops in `top` are, but for their locations.
static uint64_t contentsOf(Operation *top) {
  llvm::hash_code hash = 0;
  top->walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, op, op->getParentOp(), op->getName(), op->hashProperties(),
        op->getDiscardableAttrDictionary(),
        llvm::hash_combine_range(op->result_type_begin(),
                                 op->result_type_end()),
        llvm::hash_combine_range(op->operand_begin(), op->operand_end()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        hash = llvm::hash_combine(
            hash, &block,
            llvm::hash_combine_range(block.getArgumentTypes().begin(),
                                     block.getArgumentTypes().end()));
  });
  return hash;
}

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
    uint64_t before = contentsOf(getOperation());
    if (failed(legalize()))
      return signalPassFailure();
    // What was legal is as valid as it was: verifying a large program once more
    // takes several times what finding nothing to do does.
    if (contentsOf(getOperation()) == before)
      markAllAnalysesPreserved();
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

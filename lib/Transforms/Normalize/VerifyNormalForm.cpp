//===- VerifyNormalForm.cpp - what tp-normalize leaves behind -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AtomicDims.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYNORMALFORM
#include "tp/Transforms/Normalize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// `value` has the shape it can have.
static LogicalResult expectShape(Operation *op, Value value,
                                 ArrayRef<int64_t> expected) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getShape() == expected)
    return success();
  InFlightDiagnostic diag =
      op->emitError() << "works on " << type << " where "
                      << RankedTensorType::get(expected, type.getElementType())
                      << " is possible";
  if (Operation *def = value.getDefiningOp();
      isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(def))
    diag.attachNote(def->getLoc()) << "behind this reshape";
  return diag;
}

static LogicalResult verifyOp(Operation *op, const AtomicDims &atoms) {
  auto all = [&](ValueRange values) -> LogicalResult {
    for (Value value : values)
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && type.getNumElements() != 0 &&
          failed(expectShape(op, value, atoms.refinedShape(value))))
        return failure();
    return success();
  };
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (!AtomicDims::isSupported(generic))
      return success();
    for (auto extract : generic.getBlock()->getOps<tensor::ExtractOp>())
      if (atoms.knows(extract.getTensor()) &&
          failed(expectShape(op, extract.getTensor(),
                             atoms.refinedShape(extract.getTensor()))))
        return failure();
    return failure(failed(all(op->getOperands())) ||
                   failed(all(op->getResults())));
  }
  if (isa<linalg::LinalgOp, tensor::EmptyOp>(op))
    return failure(failed(all(op->getOperands())) ||
                   failed(all(op->getResults())));
  if (auto pin = dyn_cast<ConstrainOp>(op)) {
    if (failed(all(op->getOperands())))
      return failure();
    ArrayRef<int64_t> shape = pin.getType().getShape();
    if (pin.getView() != shape) {
      InFlightDiagnostic diag = pin.emitError() << "has the view ";
      llvm::interleave(pin.getView(), diag, "x");
      diag << ", other than its shape ";
      llvm::interleave(shape, diag, "x");
      return diag;
    }
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && AtomicDims::isSupported(slice))
    return expectShape(op, slice.getSource(),
                       atoms.shapesOf(slice).operands[0]);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      insert && AtomicDims::isSupported(insert))
    return expectShape(op, insert.getDest(),
                       atoms.shapesOf(insert).operands[0]);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    OverlapShapes shapes = atoms.shapesOf(concat);
    for (auto [input, shape] : llvm::zip(concat.getInputs(), shapes.operands))
      if (failed(expectShape(op, input, shape)))
        return failure();
  }
  return success();
}

namespace {
struct VerifyNormalFormPass
    : tp::impl::VerifyNormalFormBase<VerifyNormalFormPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() || !function.getBody().hasOneBlock())
        continue;
      AtomicDims atoms(function);
      for (Operation &op : function.getBody().front())
        if (failed(verifyOp(&op, atoms)))
          return signalPassFailure();
    }
  }
};
} // namespace

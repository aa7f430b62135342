//===- Normalize.cpp - every dimension one thing --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "Refine.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tp {
#define GEN_PASS_DEF_NORMALIZE
#include "tp/Transforms/Normalize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The loops that are parallel are those that place the results, up to loops of
/// one iteration. Upstream verifies neither, and an op that breaks it would be
/// run in whatever way its user happens to split it.
static LogicalResult checkLoops(linalg::LinalgOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool places = map.isFunctionOfDim(loop);
      if (ranges[loop] == 1 ||
          places == (iterator == utils::IteratorType::parallel))
        continue;
      return op->emitError()
             << "loop #" << loop << " is "
             << (places ? "no parallel loop and indexes"
                        : "parallel and does not index")
             << " output #" << init.getOperandNumber() - op.getNumDpsInputs()
             << ", expected the parallel loops to index every output";
    }
  }
  return success();
}

/// Shapes are static, types carry no encoding. Tensors without elements stand
/// at the function's ports alone.
static LogicalResult checkTypes(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "expected a function of one block, got "
                                << function.getBody().getBlocks().size();
  auto check = [](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types) {
      auto shaped = dyn_cast<ShapedType>(type);
      if (!shaped)
        continue;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return op->emitError()
               << "expected tensors of static shape, got " << type;
      if (tensor.getNumElements() == 0 &&
          !isa<func::FuncOp, func::ReturnOp, tensor::EmptyOp>(op))
        return op->emitError()
               << "expected tensors with elements, got " << type;
      if (tensor.getEncoding())
        return op->emitError()
               << "expected tensors without layout, got " << type;
    }
    return success();
  };
  if (failed(check(function, function.getArgumentTypes())))
    return failure();
  WalkResult walk = function.walk([&](Operation *op) {
    auto loops = dyn_cast<linalg::LinalgOp>(op);
    return failed(check(op, op->getOperandTypes())) ||
                   failed(check(op, op->getResultTypes())) ||
                   (loops && failed(checkLoops(loops)))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct NormalizePass : tp::impl::NormalizeBase<NormalizePass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration())
        continue;
      if (failed(checkTypes(function)) || failed(decompose(function)) ||
          failed(prepare(function)) || failed(Refiner(function).run()))
        return signalPassFailure();
      eraseDeadOps(function);
    }
  }
};
} // namespace

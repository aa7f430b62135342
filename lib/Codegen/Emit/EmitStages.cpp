//===- EmitStages.cpp - code of a kernel's stages -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitStages.h"

using namespace mlir;
using namespace tp::target;

SmallVector<Value> tp::target::emitStages(
    ElementEmitter &emitter, const Schedule &schedule, const Bundle &bundle,
    ArrayRef<Value> accumulators,
    llvm::function_ref<Indices(const Stage &, ArrayRef<AffineExpr>)> over) {
  SmallVector<Value> next;
  for (Stage *stage : bundle.stages) {
    if (!stage->isReduction()) {
      Value target = stage->targets.front();
      Indices index = over(*stage, stage->targetIndex.front());
      Value scalar = emitter.element(stage->source, over(*stage, stage->base),
                                     /*top=*/stage->source == target);
      if (!schedule.forwarded.contains(target))
        emitter.store(scalar, target, index);
      emitter.forward(target, index, scalar);
      continue;
    }
    linalg::LinalgOp op = stage->reduction;
    SmallVector<Value> current(op->getNumResults());
    for (auto [i, number] : llvm::enumerate(stage->resultNumbers))
      current[number] = accumulators[next.size() + i];
    SmallVector<Value> yielded =
        emitter.body(op, over(*stage, stage->base), current);
    for (unsigned number : stage->resultNumbers)
      next.push_back(yielded[number]);
  }
  return next;
}

AffineMap tp::target::rowAddress(const Stage &stage, unsigned target,
                                 int64_t &elements) {
  MLIRContext *context = stage.op->getContext();
  ArrayRef<int64_t> shape = shapeOf(stage.targets[target]);
  AffineExpr address = getAffineConstantExpr(0, context);
  elements = 1;
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    auto dim = dyn_cast<AffineDimExpr>(stage.targetIndex[target][i]);
    if (dim && llvm::is_contained(stage.slots, dim.getPosition()))
      continue;
    address = address + getAffineDimExpr(i, context) * elements;
    elements *= shape[i];
  }
  return AffineMap::get(shape.size(), 0, address, context);
}

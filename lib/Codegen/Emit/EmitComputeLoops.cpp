//===- EmitComputeLoops.cpp - code of a kernel's stages -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitComputeLoops.h"

using namespace mlir;
using namespace tp::target;

SmallVector<Value> tp::target::emitComputeLoops(
    ElementEmitter &emitter, const FusedKernel &fusedKernel,
    const LoopNest &loopNest, ArrayRef<Value> accumulators,
    llvm::function_ref<Indices(const ComputeLoop &, ArrayRef<AffineExpr>)>
        over) {
  SmallVector<Value> next;
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    if (!computeLoop->isReduction()) {
      Value target = computeLoop->targets.front();
      Indices index = over(*computeLoop, computeLoop->targetIndex.front());
      Value scalar = emitter.element(computeLoop->source,
                                     over(*computeLoop, computeLoop->base),
                                     /*top=*/computeLoop->source == target);
      if (!fusedKernel.held.contains(target))
        emitter.store(scalar, target, index);
      emitter.forward(target, index, scalar);
      continue;
    }
    linalg::LinalgOp op = computeLoop->reduction;
    SmallVector<Value> current(op->getNumResults());
    for (auto [i, number] : llvm::enumerate(computeLoop->resultNumbers))
      current[number] = accumulators[next.size() + i];
    SmallVector<Value> yielded =
        emitter.body(op, over(*computeLoop, computeLoop->base), current);
    for (unsigned number : computeLoop->resultNumbers)
      next.push_back(yielded[number]);
  }
  return next;
}

bool tp::target::startsInPlace(
    const ElementEmitter &emitter, const ComputeLoop &computeLoop,
    llvm::function_ref<Indices(const ComputeLoop &, ArrayRef<AffineExpr>)>
        over) {
  linalg::LinalgOp op = computeLoop.reduction;
  for (auto [number, target, index] :
       llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                       computeLoop.targetIndex)) {
    Value value = op.getDpsInitOperand(number)->get();
    Indices written = over(computeLoop, index), read = written;
    while (std::optional<View> view = viewOf(value)) {
      if (!view->symbols.values.empty())
        return false;
      read = applyMap(view->map, read, {}, emitter.space);
      value = view->source;
    }
    auto from = emitter.places.find(value), to = emitter.places.find(target);
    if (from == emitter.places.end() || to == emitter.places.end() ||
        from->second.pointer != to->second.pointer ||
        applyMap(from->second.address, read, {}, emitter.space) !=
            applyMap(to->second.address, written, {}, emitter.space))
      return false;
  }
  return true;
}

AffineMap tp::target::rowAddress(const ComputeLoop &computeLoop,
                                 unsigned target, int64_t &elements) {
  MLIRContext *context = computeLoop.op->getContext();
  ArrayRef<int64_t> shape = shapeOf(computeLoop.targets[target]);
  AffineExpr address = getAffineConstantExpr(0, context);
  elements = 1;
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    auto dim = dyn_cast<AffineDimExpr>(computeLoop.targetIndex[target][i]);
    if (dim && llvm::is_contained(computeLoop.slots, dim.getPosition()))
      continue;
    address = address + getAffineDimExpr(i, context) * elements;
    elements *= shape[i];
  }
  return AffineMap::get(shape.size(), 0, address, context);
}

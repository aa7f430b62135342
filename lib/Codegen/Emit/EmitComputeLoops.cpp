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
    const LoopNest &loopNest,
    ArrayRef<Value> accumulators,
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

bool tp::target::beginsInPlace(ElementEmitter &emitter,
                               const ComputeLoop &computeLoop) {
  OpOperand *init = computeLoop.reduction.getDpsInitOperand(0);
  Value target = computeLoop.targets.front();
  auto begin = emitter.places.find(init->get());
  auto end = emitter.places.find(target);
  return begin != emitter.places.end() && end != emitter.places.end() &&
         begin->second.pointer == end->second.pointer &&
         begin->second.address == end->second.address;
}

void tp::target::emitScatterBegin(ElementEmitter &emitter,
                                  const ComputeLoop &computeLoop,
                                  OverKernel over) {
  Indices index = over(computeLoop.targetIndex.front());
  Value begin = emitter.element(
      computeLoop.reduction.getDpsInitOperand(0)->get(), index);
  emitter.store(begin, computeLoop.targets.front(), index);
}

/// The index of a scattered loop's place.
static Indices placeIndex(ElementEmitter &emitter,
                          const ComputeLoop &computeLoop,
                          const ScatteredLoop &loop, OverKernel over) {
  linalg::LinalgOp op = computeLoop.reduction;
  return applyMap(op.getMatchingIndexingMap(loop.place), over(computeLoop.base),
                  {}, emitter.space);
}

SmallVector<Value> tp::target::emitPlaces(ElementEmitter &emitter,
                                          const ComputeLoop &computeLoop,
                                          OverKernel over) {
  SmallVector<Value> places;
  for (const ScatteredLoop &loop : computeLoop.scattered)
    places.push_back(emitter.element(
        loop.place->get(), placeIndex(emitter, computeLoop, loop, over)));
  return places;
}

void tp::target::emitScatterStep(ElementEmitter &emitter,
                                 const ComputeLoop &computeLoop,
                                 ArrayRef<Value> places, OverKernel over) {
  // A place is not computed again for every column.
  for (auto [place, loop] : llvm::zip_equal(places, computeLoop.scattered))
    emitter.forward(loop.place->get(),
                    placeIndex(emitter, computeLoop, loop, over), place);
  Value target = computeLoop.targets.front();
  Indices index = over(computeLoop.targetIndex.front());
  Value old = emitter.element(target, index);
  Value next = emitter
                   .body(computeLoop.reduction, over(computeLoop.base), {old})
                   .front();
  emitter.store(next, target, index);
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

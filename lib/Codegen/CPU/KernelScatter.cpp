//===- KernelScatter.cpp - kernels that are scatters ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All elements of the result are stored once, as the accumulators start. Then
// the loops run over the updates, in their order, and each is added to the
// elements in its place.
//
//===----------------------------------------------------------------------===//

#include "Emit/EmitComputeLoops.h"
#include "KernelLoops.h"
#include "Program/CommandUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

/// Takes the iterations of the scattered loops that the places name. Returns
/// whether the loops have them; null where the body checks something: then it
/// runs in any case, in an iteration that the loops have, where it changes
/// nothing.
Value KernelLoops::enterPlaces(const ComputeLoop &computeLoop) {
  unsigned rows = fusedKernel.rowExtents.size();
  bool checks = hasCheck(computeLoop.reduction);
  Value isInside;
  for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered) {
    Value place =
        emitter.element(scattered.place, over(computeLoop, scattered.index));
    int64_t extent = computeLoop.extents[scattered.loop];
    if (checks) {
      place = arith::MaxSIOp::create(builder, loc, place, emitter.constant(0));
      place = arith::MinSIOp::create(builder, loc, place,
                                     emitter.constant(extent - 1));
    } else {
      // Below zero is beyond the end of unsigned numbers.
      Value inside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place,
                                emitter.constant(extent));
      isInside = isInside
                     ? arith::AndIOp::create(builder, loc, isInside, inside)
                           .getResult()
                     : inside;
    }
    emitter.dims[rows + computeLoop.loopOfDim[scattered.loop]] = place;
  }
  return isInside;
}

void KernelLoops::scatter(const LoopNest &loopNest) {
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  unsigned rows = fusedKernel.rowExtents.size();
  SmallVector<bool> isScattered(loopNest.extents.size(), false);
  for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered)
    isScattered[computeLoop.loopOfDim[scattered.loop]] = true;
  // Loops over what lies apart stay outside; those over what lies together run
  // innermost.
  unsigned first = llvm::find(isScattered, true) - isScattered.begin();
  SmallVector<unsigned> outer, elements, inner;
  for (unsigned level = 0; level < loopNest.numParallel; ++level) {
    if (level < first)
      outer.push_back(level);
    else
      elements.push_back(level);
    if (level > first && !isScattered[level])
      inner.push_back(level);
  }
  // The loops that places depend on have to run outside of them.
  unsigned known = 0;
  for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered)
    for (AffineExpr expr : over(computeLoop, scattered.index))
      for (auto [i, level] : llvm::enumerate(inner))
        if (expr.isFunctionOfDim(rows + level))
          known = std::max<unsigned>(known, i + 1);
  SmallVector<unsigned> updates = llvm::to_vector(
      llvm::seq<unsigned>(loopNest.numParallel, loopNest.extents.size()));
  llvm::append_range(updates, ArrayRef(inner).take_front(known));

  levels(loopNest, outer, [&] {
    if (!startsInPlace(emitter, computeLoop,
                       [&](const ComputeLoop &of, ArrayRef<AffineExpr> exprs) {
                         return over(of, exprs);
                       }))
      levels(loopNest, elements, [&] { initialise(computeLoop); });
    levels(loopNest, updates, [&] {
      emitter.clear();
      Value isInside = enterPlaces(computeLoop);
      OpBuilder::InsertionGuard guard(builder);
      if (isInside) {
        auto branch = scf::IfOp::create(builder, loc, isInside,
                                        /*withElseRegion=*/false);
        builder.setInsertionPointToStart(branch.thenBlock());
      }
      levels(loopNest, ArrayRef(inner).drop_front(known), [&] {
        emitter.clear();
        accumulate(computeLoop);
      });
      emitter.clear();
    });
  });
}

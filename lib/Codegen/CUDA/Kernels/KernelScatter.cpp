//===- KernelScatter.cpp - kernels that write at places in data -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread owns every `dealt`-th place along the first scattered loop, in one
// column. It writes what these begin with, then runs over all that is written,
// in order, and takes what goes to its places. No two threads write the same
// element, so that results are equal in all runs.
//
//===----------------------------------------------------------------------===//

#include "Emit/EmitComputeLoops.h"
#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

void KernelBody::scatter() {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  unsigned dealtLoop = loopNest.firstScattered();
  // Neighbouring threads write neighbouring elements: loops of a thread's
  // number are in the order in which memory is written.
  SmallVector<unsigned> threadLoops;
  SmallVector<int64_t> extents;
  for (unsigned loop : loopNest.writeOrder) {
    if (loop > dealtLoop)
      continue;
    threadLoops.push_back(loop);
    extents.push_back(loop == dealtLoop ? mapping.dealt
                                        : loopNest.extents[loop]);
  }
  int64_t threads = product(extents);
  grid[0] = std::max<int64_t>(llvm::divideCeil(threads, mapping.block), 1);
  bool narrow = grid[0] * mapping.block < (int64_t(1) << 31);
  Value number = narrow ? blockNumber : wide(blockNumber);
  number = arith::MulIOp::create(
      builder, loc, number, integer(mapping.block, narrow ? 32 : 64));
  number = arith::AddIOp::create(builder, loc, number,
                                 narrow ? thread : wide(thread));
  OpBuilder::InsertionGuard guard(builder);
  if (threads % mapping.block) {
    auto branch = scf::IfOp::create(builder, loc, less(number, threads),
                                    /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  current.assign(loopNest.extents.size(),
                 getAffineConstantExpr(0, builder.getContext()));
  AffineExpr own = getAffineConstantExpr(0, builder.getContext());
  for (auto [loop, index] :
       llvm::zip_equal(threadLoops, split(number, extents)))
    (loop == dealtLoop ? own : current[loop]) = index;
  auto dim = dyn_cast<AffineDimExpr>(own);
  Value first = dim ? emitter.dims[dim.getPosition()] : integer(0, 64);
  if (!beginsInPlace(emitter, computeLoop)) {
    SmallVector<unsigned> scattered;
    for (unsigned loop = dealtLoop; loop < loopNest.extents.size(); ++loop)
      scattered.push_back(loop);
    scatterBegin(loopNest, scattered, first);
  }
  int64_t before = emitter.floatOperations;
  scatterUpdates(loopNest, loopNest.numParallel, first);
  int64_t steps =
      product(ArrayRef(loopNest.extents).drop_back(loopNest.numScattered));
  flops += (emitter.floatOperations - before) * steps;
}

/// Writes what the thread's elements begin with.
void KernelBody::scatterBegin(const LoopNest &loopNest,
                              ArrayRef<unsigned> loops, Value first) {
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  if (loops.empty()) {
    emitScatterBegin(emitter, computeLoop, [&](ArrayRef<AffineExpr> exprs) {
      return over(computeLoop, exprs);
    });
    emitter.flush(nullptr, nullptr);
    return;
  }
  unsigned loop = loops.front();
  int64_t extent = loopNest.extents[loop];
  bool isDealt = loop == loopNest.firstScattered();
  Value begin = integer(0);
  if (isDealt)
    begin = arith::TruncIOp::create(builder, loc, builder.getI32Type(), first);
  strided(begin, isDealt ? mapping.dealt : 1, extent, {},
          [&](Value at, ValueRange) {
            current[loop] = emitter.addDim(wide(at), {0, extent - 1});
            scatterBegin(loopNest, loops.drop_front(), first);
            return SmallVector<Value>();
          });
}

/// Runs over what is written from the reduction loop `level` on.
void KernelBody::scatterUpdates(const LoopNest &loopNest, unsigned level,
                                Value first) {
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  auto exprs = [&](ArrayRef<AffineExpr> own) { return over(computeLoop, own); };
  if (level < loopNest.firstColumn()) {
    int64_t extent = loopNest.extents[level];
    strided(integer(0), 1, extent, {}, [&](Value at, ValueRange) {
      current[level] = emitter.addDim(wide(at), {0, extent - 1});
      scatterUpdates(loopNest, level + 1, first);
      return SmallVector<Value>();
    });
    return;
  }
  SmallVector<Value> places = emitPlaces(emitter, computeLoop, exprs);
  Value mine;
  for (auto [index, loop] : llvm::zip_equal(places, computeLoop.scattered)) {
    int64_t extent = computeLoop.extents[loop.dim];
    Value place =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    mine = both(mine, less(place, extent));
    unsigned number = computeLoop.loopOfDim[loop.dim];
    if (number == loopNest.firstScattered() && mapping.dealt > 1) {
      Value owner = arith::AndIOp::create(builder, loc, place,
                                          integer(mapping.dealt - 1, 64));
      mine = both(mine, arith::CmpIOp::create(builder, loc,
                                              arith::CmpIPredicate::eq, owner,
                                              first));
    }
    current[number] = emitter.addDim(place, {0, extent - 1});
  }
  auto known = emitter.known();
  auto loads = emitter.loads;
  auto branch = scf::IfOp::create(builder, loc, mine,
                                  /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    emitScatterStep(emitter, computeLoop, places, exprs);
    emitter.flush(nullptr, nullptr);
  }
  emitter.restore(std::move(known));
  emitter.loads = std::move(loads);
}

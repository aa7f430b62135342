//===- KernelScatter.cpp - kernels that are scatters ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread owns the elements of a packet in a share of the first scattered
// loop: it stores what their accumulators start from, and adds to them, in
// their order, the updates that are for its share. The threads of a warp have
// neighbouring packets of one share, so that they take the same turns.
//
//===----------------------------------------------------------------------===//

#include "Emit/EmitComputeLoops.h"
#include "KernelBody.h"
#include "Program/CommandUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Updates whose places a thread reads at once, to hide the memory's latency.
static constexpr int64_t updatesAtOnce = 8;

/// A loop over i64, at whose end what was computed inside is forgotten.
void KernelBody::counted(Value from, Value to,
                         llvm::function_ref<void(Value)> inside) {
  auto known = emitter.known();
  auto loads = emitter.loads;
  auto loop = scf::ForOp::create(builder, loc, from, to, integer(1, 64));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  inside(loop.getInductionVar());
  emitter.restore(std::move(known));
  emitter.loads = std::move(loads);
}

/// Sets the loops that are not scattered to a lane of the packet.
void KernelBody::enterElement(const Point &point, int64_t lane) {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  for (auto [i, level] : llvm::enumerate(scatterLevels(loopNest).free)) {
    current[level] = point.at[i];
    if (lane && i + 1 == point.at.size())
      current[level] = current[level] + lane;
  }
  emitter.vector = point.vector;
  emitter.lane = lane;
  emitter.dim = point.dim;
}

/// Stores what the accumulators of the thread's elements start from.
void KernelBody::storeStarts(const Point &point, Value begin, Value end) {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  ScatterLevels levels = scatterLevels(loopNest);
  std::function<void(unsigned)> visit = [&](unsigned number) {
    if (number < levels.scattered.size()) {
      unsigned level = levels.scattered[number];
      int64_t extent = loopNest.extents[level];
      counted(number ? integer(0, 64) : begin,
              number ? integer(extent, 64) : end, [&](Value at) {
                current[level] = emitter.addDim(at, {0, extent - 1});
                visit(number + 1);
              });
      return;
    }
    for (int64_t lane = 0; lane < point.vector; ++lane) {
      enterElement(point, lane);
      for (unsigned i = 0; i < computeLoop.targets.size(); ++i)
        emitter.store(init(computeLoop, i), computeLoop.targets[i],
                      over(computeLoop, computeLoop.targetIndex[i]));
    }
    emitter.flush(Value(), Value());
  };
  visit(0);
}

/// The places of an update, an i64 each.
SmallVector<Value> KernelBody::placesOf(const Point &point, Value update) {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  ScatterLevels levels = scatterLevels(loopNest);
  SmallVector<int64_t> extents;
  for (unsigned level : levels.updates)
    extents.push_back(loopNest.extents[level]);
  for (auto [level, index] :
       llvm::zip_equal(levels.updates, split(update, extents)))
    current[level] = index;
  enterElement(point, 0);
  SmallVector<Value> places;
  for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered) {
    Value place =
        emitter.element(scattered.place, over(computeLoop, scattered.index));
    // A check runs in any case, in an iteration that the loop has.
    if (hasCheck(computeLoop.reduction)) {
      int64_t last = computeLoop.extents[scattered.loop] - 1;
      place = arith::MaxSIOp::create(builder, loc, place, integer(0, 64));
      place = arith::MinSIOp::create(builder, loc, place, integer(last, 64));
    }
    places.push_back(place);
  }
  return places;
}

/// Adds the current update to the thread's elements in its places, if they are
/// in the thread's share.
void KernelBody::addTo(const Point &point, ArrayRef<Value> places, Value begin,
                       Value end) {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  linalg::LinalgOp op = computeLoop.reduction;
  ScatterLevels levels = scatterLevels(loopNest);
  Value isOwn;
  for (auto [i, place] : llvm::enumerate(places)) {
    // Below the first it is a large unsigned number.
    Value from = place,
          size = integer(loopNest.extents[levels.scattered[i]], 64);
    if (i == 0) {
      from = arith::SubIOp::create(builder, loc, place, begin);
      size = arith::SubIOp::create(builder, loc, end, begin);
    }
    isOwn =
        both(isOwn, arith::CmpIOp::create(
                        builder, loc, arith::CmpIPredicate::ult, from, size));
  }
  auto known = emitter.known();
  auto loads = emitter.loads;
  auto branch =
      scf::IfOp::create(builder, loc, isOwn, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto [level, place] : llvm::zip_equal(levels.scattered, places))
    current[level] = emitter.addDim(place, {0, loopNest.extents[level] - 1});
  for (int64_t lane = 0; lane < point.vector; ++lane) {
    enterElement(point, lane);
    SmallVector<Value> now(op->getNumResults());
    for (auto [i, number] : llvm::enumerate(computeLoop.resultNumbers))
      now[number] =
          emitter.element(computeLoop.targets[i],
                          over(computeLoop, computeLoop.targetIndex[i]));
    SmallVector<Value> next =
        emitter.body(op, over(computeLoop, computeLoop.base), now);
    for (auto [i, number] : llvm::enumerate(computeLoop.resultNumbers))
      emitter.store(next[number], computeLoop.targets[i],
                    over(computeLoop, computeLoop.targetIndex[i]));
  }
  emitter.flush(Value(), Value());
  emitter.restore(std::move(known));
  emitter.loads = std::move(loads);
}

/// Goes through all updates, several at once.
void KernelBody::addUpdates(const Point &point, Value begin, Value end) {
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  int64_t count =
      product(ArrayRef(loopNest.extents).drop_front(loopNest.numParallel));
  int64_t before = emitter.floatOperations;
  auto step = [&](Value first, int64_t turns) {
    SmallVector<SmallVector<Value>> places;
    SmallVector<Indices> points;
    for (int64_t turn = 0; turn < turns; ++turn) {
      Value update = first;
      if (turn)
        update = arith::AddIOp::create(
            builder, loc, first,
            integer(turn, first.getType().getIntOrFloatBitWidth()));
      places.push_back(placesOf(point, update));
      points.push_back(current);
    }
    for (auto [turn, place] : llvm::enumerate(places)) {
      current = points[turn];
      addTo(point, place, begin, end);
    }
    return SmallVector<Value>();
  };
  int64_t whole = count - count % updatesAtOnce;
  if (whole)
    strided(integer(0), updatesAtOnce, whole, {}, [&](Value first, ValueRange) {
      return step(first, updatesAtOnce);
    });
  // Each of the updates at once has the operations of one.
  if (whole)
    flops = (emitter.floatOperations - before) / updatesAtOnce * count;
  if (whole < count)
    strided(
        integer(0), 1, count, {},
        [&](Value first, ValueRange) { return step(first, 1); }, whole);
  if (!whole)
    flops = (emitter.floatOperations - before) * count;
  flops *= mapping.nests.front().packets();
}

void KernelBody::scatter() {
  const SegmentedNest &nest = mapping.nests.front();
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  int64_t extent = loopNest.extents[scatterLevels(loopNest).scattered.front()];
  int64_t shares = mapping.splitFactor, packets = nest.packets();
  int64_t share = llvm::divideCeil(extent, shares), threads = packets * shares;
  grid[0] = std::max<int64_t>(llvm::divideCeil(threads, mapping.block), 1);
  if (threads == 0)
    return;
  current.assign(loopNest.extents.size(),
                 getAffineConstantExpr(0, builder.getContext()));
  bool narrow = grid[0] * mapping.block < (int64_t(1) << 31);
  unsigned width = narrow ? 32 : 64;
  Value number = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc,
                            narrow ? blockNumber : wide(blockNumber),
                            integer(mapping.block, width)),
      narrow ? thread : wide(thread));
  OpBuilder::InsertionGuard guard(builder);
  if (threads % mapping.block) {
    auto branch = scf::IfOp::create(builder, loc, less(number, threads),
                                    /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  Value packet =
      arith::RemUIOp::create(builder, loc, number, integer(packets, width));
  Value begin = wide(
      arith::DivUIOp::create(builder, loc, number, integer(packets, width)));
  begin = arith::MulIOp::create(builder, loc, begin, integer(share, 64));
  Value end = arith::AddIOp::create(builder, loc, begin, integer(share, 64));
  end = arith::MinSIOp::create(builder, loc, end, integer(extent, 64));
  // The last shares may have nothing.
  begin = arith::MinSIOp::create(builder, loc, begin, end);
  Point point = pointOf(nest.boxes.front(), packet);
  enterElement(point, 0);
  for (unsigned level : scatterLevels(loopNest).scattered)
    current[level] = emitter.addDim(begin, {0, loopNest.extents[level] - 1});
  if (!startsInPlace(emitter, computeLoop,
                     [&](const ComputeLoop &of, ArrayRef<AffineExpr> exprs) {
                       return over(of, exprs);
                     }))
    storeStarts(point, begin, end);
  addUpdates(point, begin, end);
}

//===- KernelRows.cpp - kernels with a team of threads per row ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit/EmitStages.h"
#include "KernelBody.h"
#include "Kernels/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Blocks that share scratch in device memory: enough to fill a device.
static constexpr int64_t scratchBlocks = 512;
/// Values of a row begin at multiples of this.
static constexpr int64_t rowAlignment = 16;

/// Gives the row's values their places: in shared memory if all teams of a
/// block find room, else in the scratch of the context, a piece per team. True
/// if that is so.
bool KernelBody::placeRowMemory(Value shared, Value team) {
  int64_t bytes = 0;
  SmallVector<int64_t> offsets;
  for (const RowMemory &row : rowMemory) {
    offsets.push_back(bytes);
    bytes += llvm::alignTo(std::max<int64_t>(row.bytes, 1), rowAlignment);
  }
  if (bytes == 0)
    return false;
  int64_t teams = mapping.block / mapping.team;
  bool fits = sharedUsed + teams * bytes <= mostSharedBytes;
  Value pointer = shared, owner;
  if (fits) {
    pointer = LLVM::GEPOp::create(builder, loc, shared.getType(),
                                  builder.getI8Type(), shared,
                                  ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
    sharedUsed += teams * bytes;
    owner = teamInBlock;
  } else {
    scratchBytes = std::min(grid[0], scratchBlocks) * teams * bytes;
    owner = team;
    Type type = emitter.context.getType();
    Value field = LLVM::GEPOp::create(builder, loc, type, type, emitter.context,
                                      ArrayRef<LLVM::GEPArg>{10});
    pointer = LLVM::LoadOp::create(builder, loc, type, field);
  }
  Value start =
      arith::MulIOp::create(builder, loc, wide(owner), integer(bytes, 64));
  for (auto [row, offset] : llvm::zip_equal(rowMemory, offsets)) {
    Value at = arith::AddIOp::create(builder, loc, start, integer(offset, 64));
    Value place = LLVM::GEPOp::create(builder, loc, pointer.getType(),
                                      builder.getI8Type(), pointer,
                                      ArrayRef<LLVM::GEPArg>{at});
    emitter.places[row.value] = {place, row.address};
  }
  return !fits;
}

void KernelBody::rows(Value shared) {
  int64_t count = product(group.rowExtents);
  int64_t teams = mapping.block / mapping.team;
  int64_t blocks = llvm::divideCeil(count, teams);
  grid[0] = std::max<int64_t>(blocks, 1);
  if (count == 0)
    return;
  member = thread;
  teamInBlock = integer(0);
  if (mapping.team == 1) {
    member = integer(0);
    teamInBlock = thread;
  } else if (teams > 1) {
    member =
        arith::RemUIOp::create(builder, loc, thread, integer(mapping.team));
    teamInBlock =
        arith::DivUIOp::create(builder, loc, thread, integer(mapping.team));
  }
  if (mapping.team > warpSize)
    for (const Bundle &bundle : group.bundles)
      if (bundle.numParallel == 0)
        for (Stage *stage : bundle.stages)
          if (stage->isReduction())
            sharedUsed += int64_t(stage->targets.size()) *
                          llvm::alignTo(mapping.team / warpSize * 8, 16);
  auto globalTeam = [&](Value blockNumber) -> Value {
    if (teams == 1)
      return wide(blockNumber);
    return arith::AddIOp::create(builder, loc,
                                 arith::MulIOp::create(builder, loc,
                                                       wide(blockNumber),
                                                       integer(teams, 64)),
                                 wide(teamInBlock));
  };
  bool loops = placeRowMemory(shared, globalTeam(blockNumber));
  auto one = [&](Value number) {
    rowValid = {};
    Value rowNumber = globalTeam(number);
    if (count % teams) {
      rowValid = less(rowNumber, count);
      rowNumber = arith::MinUIOp::create(builder, loc, rowNumber,
                                         integer(count - 1, 64));
    }
    current = split(rowNumber, group.rowExtents);
    row(shared);
  };
  runs = count * mapping.team;
  if (!loops || blocks <= scratchBlocks)
    return one(blockNumber);
  // As many blocks as have scratch take turns.
  grid[0] = scratchBlocks;
  auto loop = scf::ForOp::create(builder, loc, blockNumber, integer(blocks),
                                 integer(scratchBlocks));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  one(loop.getInductionVar());
  Team(builder, loc, mapping.team, thread).barrier();
}

void KernelBody::row(Value shared) {
  // Room for reductions comes first, each has its own.
  int64_t used = std::exchange(sharedUsed, 0);
  followingBundles(0, shared);
  sharedUsed = used;
}

void KernelBody::followingBundles(unsigned start, Value shared) {
  for (unsigned number = start; number < group.bundles.size(); ++number) {
    // Whether the bundle needs what others wrote is known when it is emitted.
    Operation *before = builder.getInsertionBlock()->empty()
                            ? nullptr
                            : &*std::prev(builder.getInsertionPoint());
    emitter.readsWritten = false;
    bundle(number, shared);
    if (number && (emitter.readsWritten || overwrites)) {
      OpBuilder::InsertionGuard guard(builder);
      if (before)
        builder.setInsertionPointAfter(before);
      else
        builder.setInsertionPointToStart(builder.getInsertionBlock());
      Team(builder, loc, mapping.team, thread).barrier();
    }
  }
}

/// Every thread takes elements of the parallel loops, and runs the others.
void KernelBody::parallelBundle(const Bundle &bundle, const Nest &nest) {
  ArrayRef<int64_t> reduced =
      ArrayRef<int64_t>(bundle.extents).drop_front(bundle.numParallel);
  Indices zeros(reduced.size(), getAffineConstantExpr(0, builder.getContext()));
  for (const Segment &segment : nest.segments)
    strided(member, mapping.team, segment.chunks(), {},
            [&](Value number, ValueRange) {
              Point point = pointOf(segment, number), start = point;
              llvm::append_range(start.at, zeros);
              enter(start, 0);
              SmallVector<Value> accumulators;
              for (Stage *stage : bundle.stages)
                if (stage->isReduction())
                  for (unsigned i = 0; i < stage->targets.size(); ++i)
                    accumulators.push_back(init(*stage, i));
              if (int64_t total = product(reduced))
                accumulators = strided(
                    integer(0), 1, total, accumulators,
                    [&](Value step, ValueRange now) {
                      Point inner = point;
                      llvm::append_range(inner.at, split(step, reduced));
                      return chunk(bundle, inner, SmallVector<Value>(now));
                    });
              enter(start, 0);
              unsigned at = 0;
              for (Stage *stage : bundle.stages)
                if (stage->isReduction())
                  for (auto [target, index] :
                       llvm::zip_equal(stage->targets, stage->targetIndex)) {
                    Value result = accumulators[at++];
                    if (!plan.isStored(target))
                      continue;
                    emitter.store(result, target, over(*stage, index));
                    emitter.forward(target, over(*stage, index), result);
                  }
              emitter.flush(rowValid, {});
              return SmallVector<Value>();
            });
}

void KernelBody::bundle(unsigned number, Value shared) {
  const Bundle &bundle = group.bundles[number];
  const Nest &nest = mapping.nests[number];
  if (bundle.numParallel)
    return parallelBundle(bundle, nest);
  bool isShared = mapping.team > 1;
  Indices origin(bundle.extents.size(),
                 getAffineConstantExpr(0, builder.getContext()));
  Point whole;
  whole.at = origin;
  SmallVector<Value> accumulators;
  SmallVector<Combiner> combiners;
  enter(whole, 0);
  for (Stage *stage : bundle.stages) {
    if (!stage->isReduction())
      continue;
    if (isShared)
      llvm::append_range(combiners, *combinersOf(*stage));
    for (unsigned i = 0; i < stage->targets.size(); ++i)
      accumulators.push_back(
          isShared
              ? neutralElement(builder, loc, combiners[accumulators.size()])
              : init(*stage, i));
  }
  for (auto [i, segment] : llvm::enumerate(nest.segments)) {
    if (mapping.held[number]) {
      int64_t trips = llvm::divideCeil(segment.chunks(), mapping.team);
      for (int64_t trip = 0; trip < trips; ++trip)
        accumulators = chunk(bundle, heldPoint(nest, i, trip), accumulators);
      continue;
    }
    accumulators =
        unrolled(member, mapping.team, segment.chunks(), accumulators,
                 [&](Value chunkNumber, ValueRange now) {
                   return chunk(bundle, pointOf(segment, chunkNumber),
                                SmallVector<Value>(now));
                 });
  }
  Team team(builder, loc, mapping.team, thread);
  enter(whole, 0);
  unsigned at = 0;
  for (Stage *stage : bundle.stages) {
    if (!stage->isReduction())
      continue;
    for (auto [i, target] : llvm::enumerate(stage->targets)) {
      Value result = accumulators[at];
      if (isShared) {
        Value slot = shared;
        if (mapping.team > warpSize) {
          slot = LLVM::GEPOp::create(
              builder, loc, shared.getType(), builder.getI8Type(), shared,
              ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
          sharedUsed += llvm::alignTo(mapping.team / warpSize * 8, 16);
        }
        result = team.reduce(combiners[at], result, slot);
        result = combine(builder, loc, combiners[at], init(*stage, i), result);
      }
      ++at;
      if (!plan.isStored(target))
        continue;
      Indices index = over(*stage, stage->targetIndex[i]);
      emitter.store(result, target, index);
      emitter.forward(target, index, result);
    }
  }
  Value first;
  if (isShared && at)
    first = less(member, 1);
  emitter.flush(both(rowValid, first), first);
}

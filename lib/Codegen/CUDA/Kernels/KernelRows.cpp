//===- KernelRows.cpp - kernels with a team of threads per row ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit/EmitComputeLoops.h"
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

/// Gives the row's values their places: in shared memory if all thread groups
/// of a block find room, else in the scratch of the context, a piece per thread
/// group. True if that is so.
bool KernelBody::placeRowMemory(Value shared, Value threadGroup) {
  int64_t bytes = 0;
  SmallVector<int64_t> offsets;
  for (const RowMemory &row : rowMemory) {
    offsets.push_back(bytes);
    bytes += llvm::alignTo(std::max<int64_t>(row.bytes, 1), rowAlignment);
  }
  if (bytes == 0)
    return false;
  int64_t threadGroups = mapping.block / mapping.groupSize;
  bool fits = sharedUsed + threadGroups * bytes <= mostSharedBytes;
  Value pointer = shared, owner;
  if (fits) {
    pointer = LLVM::GEPOp::create(builder, loc, shared.getType(),
                                  builder.getI8Type(), shared,
                                  ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
    sharedUsed += threadGroups * bytes;
    owner = groupInBlock;
  } else {
    scratchBytes = std::min(grid[0], scratchBlocks) * threadGroups * bytes;
    owner = threadGroup;
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
  int64_t count = product(fusedKernel.rowExtents);
  int64_t threadGroups = mapping.block / mapping.groupSize;
  int64_t blocks = llvm::divideCeil(count, threadGroups);
  grid[0] = std::max<int64_t>(blocks, 1);
  if (count == 0)
    return;
  member = thread;
  groupInBlock = integer(0);
  if (mapping.groupSize == 1) {
    member = integer(0);
    groupInBlock = thread;
  } else if (threadGroups > 1) {
    member = arith::RemUIOp::create(builder, loc, thread,
                                    integer(mapping.groupSize));
    groupInBlock = arith::DivUIOp::create(builder, loc, thread,
                                          integer(mapping.groupSize));
  }
  if (mapping.groupSize > warpSize)
    for (const LoopNest &loopNest : fusedKernel.loopNests)
      if (loopNest.numParallel == 0)
        for (ComputeLoop *computeLoop : loopNest.computeLoops)
          if (computeLoop->isReduction())
            sharedUsed += int64_t(computeLoop->targets.size()) *
                          llvm::alignTo(mapping.groupSize / warpSize * 8, 16);
  auto globalTeam = [&](Value blockNumber) -> Value {
    if (threadGroups == 1)
      return wide(blockNumber);
    return arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, wide(blockNumber),
                              integer(threadGroups, 64)),
        wide(groupInBlock));
  };
  bool loops = placeRowMemory(shared, globalTeam(blockNumber));
  auto one = [&](Value number) {
    rowValid = {};
    Value rowNumber = globalTeam(number);
    if (count % threadGroups) {
      rowValid = less(rowNumber, count);
      rowNumber = arith::MinUIOp::create(builder, loc, rowNumber,
                                         integer(count - 1, 64));
    }
    emitter.isOwn = rowValid;
    current = split(rowNumber, fusedKernel.rowExtents);
    row(shared);
  };
  runs = count * mapping.groupSize;
  if (!loops || blocks <= scratchBlocks)
    return one(blockNumber);
  // As many blocks as have scratch take turns.
  grid[0] = scratchBlocks;
  auto loop = scf::ForOp::create(builder, loc, blockNumber, integer(blocks),
                                 integer(scratchBlocks));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  one(loop.getInductionVar());
  ThreadGroup(builder, loc, mapping.groupSize, thread).barrier();
}

void KernelBody::row(Value shared) {
  // Room for reductions comes first, each has its own.
  int64_t used = std::exchange(sharedUsed, 0);
  followingLoopNests(0, shared);
  sharedUsed = used;
}

void KernelBody::followingLoopNests(unsigned start, Value shared) {
  for (unsigned number = start; number < fusedKernel.loopNests.size();
       ++number) {
    // Whether the loop nest needs what others wrote is known when it is
    // emitted.
    Operation *before = builder.getInsertionBlock()->empty()
                            ? nullptr
                            : &*std::prev(builder.getInsertionPoint());
    emitter.readsWritten = false;
    loopNest(number, shared);
    if (number && (emitter.readsWritten || overwrites)) {
      OpBuilder::InsertionGuard guard(builder);
      if (before)
        builder.setInsertionPointAfter(before);
      else
        builder.setInsertionPointToStart(builder.getInsertionBlock());
      ThreadGroup(builder, loc, mapping.groupSize, thread).barrier();
    }
  }
}

/// Every thread takes elements of the parallel loops, and runs the others.
void KernelBody::parallelLoopNest(const LoopNest &loopNest,
                                  const SegmentedNest &nest) {
  ArrayRef<int64_t> reduced =
      ArrayRef<int64_t>(loopNest.extents).drop_front(loopNest.numParallel);
  Indices zeros(reduced.size(), getAffineConstantExpr(0, builder.getContext()));
  for (const NestBox &box : nest.boxes)
    strided(member, mapping.groupSize, box.packets(), {},
            [&](Value number, ValueRange) {
              Point point = pointOf(box, number), start = point;
              llvm::append_range(start.at, zeros);
              enter(start, 0);
              SmallVector<Value> accumulators;
              for (ComputeLoop *computeLoop : loopNest.computeLoops)
                if (computeLoop->isReduction())
                  for (unsigned i = 0; i < computeLoop->targets.size(); ++i)
                    accumulators.push_back(init(*computeLoop, i));
              if (int64_t total = product(reduced))
                accumulators = strided(
                    integer(0), 1, total, accumulators,
                    [&](Value step, ValueRange now) {
                      Point inner = point;
                      llvm::append_range(inner.at, split(step, reduced));
                      return packet(loopNest, inner, SmallVector<Value>(now));
                    });
              enter(start, 0);
              storeReductions(loopNest, [&](const ComputeLoop &, unsigned,
                                            unsigned result) {
                return accumulators[result];
              });
              emitter.flush(rowValid, {});
              return SmallVector<Value>();
            });
}

void KernelBody::loopNest(unsigned number, Value shared) {
  const LoopNest &loopNest = fusedKernel.loopNests[number];
  const SegmentedNest &nest = mapping.nests[number];
  if (loopNest.numParallel)
    return parallelLoopNest(loopNest, nest);
  bool isShared = mapping.groupSize > 1;
  Indices origin(loopNest.extents.size(),
                 getAffineConstantExpr(0, builder.getContext()));
  Point whole;
  whole.at = origin;
  SmallVector<Value> accumulators;
  SmallVector<Combiner> combiners;
  enter(whole, 0);
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    if (!computeLoop->isReduction())
      continue;
    if (isShared)
      llvm::append_range(combiners, *combinersOf(*computeLoop));
    for (unsigned i = 0; i < computeLoop->targets.size(); ++i)
      accumulators.push_back(
          isShared ? identityOf(builder, loc, combiners[accumulators.size()])
                   : init(*computeLoop, i));
  }
  for (auto [i, box] : llvm::enumerate(nest.boxes)) {
    if (mapping.held[number]) {
      int64_t trips = llvm::divideCeil(box.packets(), mapping.groupSize);
      for (int64_t trip = 0; trip < trips; ++trip)
        accumulators = packet(loopNest, heldPoint(nest, i, trip), accumulators);
      continue;
    }
    accumulators =
        unrolled(member, mapping.groupSize, box.packets(), accumulators,
                 [&](Value packetNumber, ValueRange now) {
                   return packet(loopNest, pointOf(box, packetNumber),
                                 SmallVector<Value>(now));
                 });
  }
  ThreadGroup threadGroup(builder, loc, mapping.groupSize, thread);
  enter(whole, 0);
  storeReductions(loopNest,
                  [&](const ComputeLoop &computeLoop, unsigned position,
                      unsigned number) -> Value {
                    Value result = accumulators[number];
                    if (!isShared)
                      return result;
                    Value slot = shared;
                    if (mapping.groupSize > warpSize) {
                      slot = LLVM::GEPOp::create(
                          builder, loc, shared.getType(), builder.getI8Type(),
                          shared, ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
                      sharedUsed +=
                          llvm::alignTo(mapping.groupSize / warpSize * 8, 16);
                    }
                    result =
                        threadGroup.reduce(combiners[number], result, slot);
                    return combine(builder, loc, combiners[number],
                                   init(computeLoop, position), result);
                  });
  // Results of reductions take over no memory.
  Value first;
  if (isShared && !accumulators.empty())
    first = less(member, 1);
  emitter.flush(both(rowValid, first), first);
}

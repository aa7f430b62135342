//===- KernelSplit.cpp - kernels with several blocks per row --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction of few long rows: the packets of a row go round its blocks, and
// the last block to end combines what they found and does what comes after.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

void KernelBody::splitRows(Value shared) {
  int64_t rows = product(fusedKernel.rowExtents),
          splitFactor = mapping.splitFactor;
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const SegmentedNest &nest = mapping.nests.front();
  grid[0] = rows * splitFactor;
  Value part =
      arith::RemUIOp::create(builder, loc, blockNumber, integer(splitFactor));
  Value rowNumber =
      arith::DivUIOp::create(builder, loc, blockNumber, integer(splitFactor));
  current = split(rowNumber, fusedKernel.rowExtents);
  member = thread;
  groupInBlock = integer(0);
  ThreadGroup threadGroup(builder, loc, mapping.groupSize, thread);
  auto place = [&](int64_t bytes) -> Value {
    Value slot = LLVM::GEPOp::create(
        builder, loc, shared.getType(), builder.getI8Type(), shared,
        ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
    sharedUsed += llvm::alignTo(bytes, 16);
    return slot;
  };
  placeRowMemory(shared, wide(blockNumber));
  auto warpSlots = [&] {
    return place(mapping.groupSize / warpSize * slotBytes);
  };

  Point whole;
  whole.at.assign(loopNest.extents.size(),
                  getAffineConstantExpr(0, builder.getContext()));
  SmallVector<Combiner> combiners;
  SmallVector<Value> accumulators;
  enter(whole, 0);
  for (ComputeLoop *computeLoop : loopNest.computeLoops)
    if (computeLoop->isReduction())
      llvm::append_range(combiners, *combinersOf(*computeLoop));
  for (const Combiner &combiner : combiners)
    accumulators.push_back(identityOf(builder, loc, combiner));
  Value start = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, part, integer(mapping.groupSize)),
      member);
  runs = rows * splitFactor * mapping.groupSize;
  for (const NestBox &box : nest.boxes)
    accumulators =
        unrolled(start, splitFactor * mapping.groupSize, box.packets(),
                 accumulators, [&](Value number, ValueRange now) {
                   return packet(loopNest, pointOf(box, number),
                                 SmallVector<Value>(now));
                 });
  runs = rows;
  for (auto [i, value] : llvm::enumerate(accumulators))
    value = threadGroup.reduce(combiners[i], value, warpSlots());
  auto slotOf = [&](unsigned accumulator, Value of) {
    return partial(accumulator, rows, rowNumber, splitFactor, of);
  };
  storePartials(accumulators, part, member, slotOf);
  Value isLast = isLastOf(splitFactor, rowNumber, place(4));
  auto branch = scf::IfOp::create(builder, loc, isLast,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  accumulators =
      combinePartials(combiners, accumulators.size(), member, slotOf);
  enter(whole, 0);
  storeReductions(loopNest, [&](const ComputeLoop &computeLoop,
                                unsigned position, unsigned number) {
    Value result = threadGroup.reduce(combiners[number], accumulators[number],
                                      warpSlots());
    return combine(builder, loc, combiners[number], init(computeLoop, position),
                   result);
  });
  Value first = less(member, 1);
  emitter.flush(first, first);
  followingLoopNests(1, shared);
}

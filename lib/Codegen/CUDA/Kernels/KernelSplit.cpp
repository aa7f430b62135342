//===- KernelSplit.cpp - kernels with several blocks per row --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction of few long rows: the chunks of a row go round its blocks, and
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
  int64_t rows = product(group.rowExtents), parts = mapping.parts;
  const Bundle &bundle = group.bundles.front();
  const Nest &nest = mapping.nests.front();
  grid[0] = rows * parts;
  Value part =
      arith::RemUIOp::create(builder, loc, blockNumber, integer(parts));
  Value rowNumber =
      arith::DivUIOp::create(builder, loc, blockNumber, integer(parts));
  current = split(rowNumber, group.rowExtents);
  member = thread;
  teamInBlock = integer(0);
  Team team(builder, loc, mapping.team, thread);
  auto place = [&](int64_t bytes) -> Value {
    Value slot = LLVM::GEPOp::create(
        builder, loc, shared.getType(), builder.getI8Type(), shared,
        ArrayRef<LLVM::GEPArg>{int32_t(sharedUsed)});
    sharedUsed += llvm::alignTo(bytes, 16);
    return slot;
  };
  placeRowMemory(shared, wide(blockNumber));
  auto warpSlots = [&] { return place(mapping.team / warpSize * slotBytes); };

  Point whole;
  whole.at.assign(bundle.extents.size(),
                  getAffineConstantExpr(0, builder.getContext()));
  SmallVector<Combiner> combiners;
  SmallVector<Value> accumulators;
  enter(whole, 0);
  for (Stage *stage : bundle.stages)
    if (stage->isReduction())
      llvm::append_range(combiners, *combinersOf(*stage));
  for (const Combiner &combiner : combiners)
    accumulators.push_back(neutralElement(builder, loc, combiner));
  Value start = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, part, integer(mapping.team)), member);
  runs = rows * parts * mapping.team;
  for (const Segment &segment : nest.segments)
    accumulators = unrolled(start, parts * mapping.team, segment.chunks(),
                            accumulators, [&](Value number, ValueRange now) {
                              return chunk(bundle, pointOf(segment, number),
                                           SmallVector<Value>(now));
                            });
  runs = rows;
  for (auto [i, value] : llvm::enumerate(accumulators))
    value = team.reduce(combiners[i], value, warpSlots());
  setPartialBytes(accumulators);
  SmallVector<Value> slots;
  for (size_t i = 0; i < accumulators.size(); ++i)
    slots.push_back(partial(i, rows, rowNumber, parts, part));
  {
    auto leader = scf::IfOp::create(builder, loc, less(member, 1),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(leader.thenBlock());
    for (auto [value, slot] : llvm::zip_equal(accumulators, slots))
      LLVM::StoreOp::create(builder, loc, packed(builder, loc, value), slot,
                            partialBytes);
  }
  Value isLast = isLastOf(parts, rowNumber, place(4));
  auto branch = scf::IfOp::create(builder, loc, isLast,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> neutral;
  for (const Combiner &combiner : combiners)
    neutral.push_back(neutralElement(builder, loc, combiner));
  accumulators = strided(
      member, mapping.team, parts, neutral, [&](Value other, ValueRange now) {
        SmallVector<Value> next;
        for (auto [i, value] : llvm::enumerate(now)) {
          Value found = LLVM::LoadOp::create(
              builder, loc, packedType(value.getType()),
              partial(i, rows, rowNumber, parts, other), partialBytes);
          next.push_back(
              combine(builder, loc, combiners[i], value,
                      unpacked(builder, loc, found, value.getType())));
        }
        return next;
      });
  enter(whole, 0);
  unsigned at = 0;
  for (Stage *stage : bundle.stages) {
    if (!stage->isReduction())
      continue;
    for (auto [i, target] : llvm::enumerate(stage->targets)) {
      Value result = team.reduce(combiners[at], accumulators[at], warpSlots());
      result = combine(builder, loc, combiners[at], init(*stage, i), result);
      ++at;
      if (!plan.isStored(target))
        continue;
      Indices index = over(*stage, stage->targetIndex[i]);
      emitter.store(result, target, index);
      emitter.forward(target, index, result);
    }
  }
  Value first = less(member, 1);
  emitter.flush(first, first);
  followingBundles(1, shared);
}

//===- KernelColumns.cpp - kernels that reduce the rows of a matrix -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// The combination of all warps' `values`, lane by lane, in the first warp, in
/// order. `results` combiners repeat over the values. The room in shared
/// memory, [value][warp][lane], is free again when it returns.
void KernelBody::combineWarps(ArrayRef<Combiner> combiners,
                              MutableArrayRef<Value> values, Value lane,
                              Value shared) {
  int64_t stride = mapping.block * slotBytes;
  sharedUsed = std::max(sharedUsed, stride * int64_t(values.size()));
  auto slot = [&](unsigned number, Value owner) -> Value {
    Value offset = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, owner, integer(slotBytes)),
        integer(number * stride));
    return LLVM::GEPOp::create(builder, loc, shared.getType(),
                               builder.getI8Type(), shared,
                               ArrayRef<LLVM::GEPArg>{offset});
  };
  for (auto [i, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(builder, loc, packed(builder, loc, value),
                          slot(i, thread), slotBytes);
  NVVM::Barrier0Op::create(builder, loc);
  for (auto [i, value] : llvm::enumerate(values)) {
    Type type = value.getType();
    Value sum;
    for (int64_t warp = 0; warp < mapping.groupSize; ++warp) {
      Value owner =
          arith::AddIOp::create(builder, loc, lane, integer(warp * warpSize));
      Value found =
          unpacked(builder, loc,
                   LLVM::LoadOp::create(builder, loc, packedType(type),
                                        slot(i, owner), slotBytes),
                   type);
      sum = warp == 0 ? found
                      : combine(builder, loc, combiners[i % combiners.size()],
                                sum, found);
    }
    value = sum;
  }
  NVVM::Barrier0Op::create(builder, loc);
}

void KernelBody::columns(Value shared) {
  const SegmentedNest &nest = mapping.nests.front();
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  ArrayRef<int64_t> reduced =
      ArrayRef<int64_t>(loopNest.extents).drop_front(loopNest.numParallel);
  auto combiners = combinersOf(computeLoop);
  unsigned results = computeLoop.targets.size();
  int64_t splitFactor = mapping.splitFactor, total = product(reduced);
  Value lane = arith::RemUIOp::create(builder, loc, thread, integer(warpSize));
  Value warp = arith::DivUIOp::create(builder, loc, thread, integer(warpSize));
  // A piece is a warp's columns; blocks that follow each other have pieces that
  // do.
  int64_t pieces = 0, first = 0;
  for (const NestBox &box : nest.boxes)
    pieces += llvm::divideCeil(box.packets(), warpSize);
  grid[0] = std::max<int64_t>(pieces * splitFactor, 1);
  Value piece = blockNumber, part = integer(0);
  if (splitFactor > 1) {
    piece = arith::RemUIOp::create(builder, loc, blockNumber, integer(pieces));
    part = arith::DivUIOp::create(builder, loc, blockNumber, integer(pieces));
  }
  for (const NestBox &box : nest.boxes) {
    int64_t count = box.packets(), own = llvm::divideCeil(count, warpSize);
    auto known = emitter.known();
    scratch = {};
    OpBuilder::InsertionGuard guard(builder);
    Value mine = enterBox(nest, piece, first, own);
    first += own;
    Value number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, mine, integer(warpSize)), lane);
    Value valid;
    if (count % warpSize) {
      // Whole blocks wait at barriers, with columns or without.
      valid = less(number, count);
      number = arith::MinUIOp::create(builder, loc, number, integer(count - 1));
    }
    Point point = pointOf(box, number);
    emitter.isOwn = valid;
    auto placeOf = [&](const Indices &rest, int64_t at) {
      Point whole = point;
      llvm::append_range(whole.at, rest);
      enter(whole, 0);
      unsigned last = loopNest.numParallel - 1;
      current[last] = current[last] + at;
      emitter.lane = at;
    };
    Indices zeros(reduced.size(),
                  getAffineConstantExpr(0, builder.getContext()));
    SmallVector<Value> accumulators;
    for (int64_t at = 0; at < box.vector; ++at) {
      placeOf(zeros, at);
      for (unsigned i = 0; i < results; ++i)
        accumulators.push_back(combiners
                                   ? identityOf(builder, loc, (*combiners)[i])
                                   : init(computeLoop, i));
    }
    auto step = [&](Value row, ValueRange now) {
      Indices rest = split(row, reduced);
      SmallVector<Value> next;
      int64_t before = emitter.floatOperations;
      for (int64_t at = 0; at < box.vector; ++at) {
        placeOf(rest, at);
        llvm::append_range(next,
                           computeLoops(loopNest, SmallVector<Value>(now.slice(
                                                      at * results, results))));
      }
      flops += (emitter.floatOperations - before) * runs;
      return next;
    };
    runs = count * splitFactor * mapping.groupSize;
    Value start = combiners ? warp : integer(0);
    if (splitFactor > 1)
      start = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, part, integer(mapping.groupSize)),
          warp);
    if (total)
      accumulators = unrolled(start, mapping.groupSize * splitFactor, total,
                              accumulators, step);
    runs = count;
    auto finish = [&] {
      for (int64_t at = 0; at < box.vector; ++at) {
        placeOf(zeros, at);
        for (unsigned i = 0; i < results; ++i) {
          Value value = accumulators[at * results + i];
          if (combiners)
            value = combine(builder, loc, (*combiners)[i], init(computeLoop, i),
                            value);
          if (plan.isStored(computeLoop.targets[i]))
            emitter.store(value, computeLoop.targets[i],
                          over(computeLoop, computeLoop.targetIndex[i]));
        }
      }
      Value writes = valid;
      if (mapping.groupSize > 1)
        writes = both(valid, less(warp, 1));
      emitter.flush(writes, writes);
    };
    if (mapping.groupSize > 1)
      combineWarps(*combiners, accumulators, lane, shared);
    if (splitFactor == 1) {
      finish();
    } else {
      Value owner = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, piece, integer(warpSize)), lane);
      auto slotOf = [&](unsigned accumulator, Value of) {
        return partial(accumulator, splitFactor, of, pieces * warpSize, owner);
      };
      storePartials(accumulators, part, warp, slotOf);
      auto branch =
          scf::IfOp::create(builder, loc, isLastOf(splitFactor, piece, shared),
                            /*withElseRegion=*/false);
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      // The word that told so is free when all have read it.
      NVVM::Barrier0Op::create(builder, loc);
      accumulators =
          combinePartials(*combiners, accumulators.size(), warp, slotOf);
      combineWarps(*combiners, accumulators, lane, shared);
      finish();
    }
    emitter.isOwn = {};
    emitter.restore(std::move(known));
    emitter.loads.clear();
  }
}

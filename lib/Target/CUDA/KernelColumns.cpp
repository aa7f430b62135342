//===- KernelColumns.cpp - kernels that reduce the rows of a matrix -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

void KernelBody::columns(Value shared) {
  const Nest &nest = mapping.nests.front();
  const Bundle &bundle = group.bundles.front();
  Stage &stage = *bundle.stages.front();
  ArrayRef<int64_t> reduced =
      ArrayRef<int64_t>(bundle.extents).drop_front(bundle.numParallel);
  auto combiners = combinersOf(stage);
  int64_t chunks = nest.chunks();
  grid[0] = std::max<int64_t>(llvm::divideCeil(chunks, warpSize), 1);
  Value lane = arith::RemUIOp::create(builder, loc, thread, integer(warpSize));
  Value warp = arith::DivUIOp::create(builder, loc, thread, integer(warpSize));
  Value number = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, blockNumber, integer(warpSize)),
      lane);
  int64_t first = 0;
  for (const Segment &segment : nest.segments) {
    int64_t count = segment.chunks();
    Value mine = number;
    if (first)
      mine = arith::SubIOp::create(builder, loc, number, integer(first));
    first += count;
    Value valid = less(mine, count);
    // Whole blocks wait at barriers, with columns or without.
    Value column =
        arith::MinUIOp::create(builder, loc, mine, integer(count - 1));
    Point point = pointOf(segment, column);
    unsigned results = stage.targets.size();
    SmallVector<Value> accumulators;
    auto placeOf = [&](const Indices &rest, int64_t at) {
      Point whole = point;
      llvm::append_range(whole.at, rest);
      enter(whole, 0);
      unsigned last = bundle.numParallel - 1;
      current[last] = current[last] + at;
      emitter.lane = at;
    };
    Indices zeros(reduced.size(),
                  getAffineConstantExpr(0, builder.getContext()));
    for (int64_t at = 0; at < segment.vector; ++at) {
      placeOf(zeros, at);
      for (unsigned i = 0; i < results; ++i)
        accumulators.push_back(
            combiners ? neutralElement(builder, loc, (*combiners)[i])
                      : init(stage, i));
    }
    int64_t total = product(reduced);
    if (total)
      accumulators =
          strided(combiners ? warp : integer(0), mapping.team, total,
                  accumulators, [&](Value step, ValueRange now) {
                    Indices rest = split(step, reduced);
                    SmallVector<Value> next;
                    int64_t before = emitter.floatOperations;
                    for (int64_t at = 0; at < segment.vector; ++at) {
                      placeOf(rest, at);
                      llvm::append_range(
                          next, stages(bundle, SmallVector<Value>(now.slice(
                                                   at * results, results))));
                    }
                    flops += (emitter.floatOperations - before) * count * total;
                    return next;
                  });
    if (combiners) {
      // Warps in order, through shared memory: slot [accumulator][warp][lane].
      if (mapping.team > 1) {
        int64_t stride = mapping.block * slotBytes;
        sharedUsed =
            std::max(sharedUsed, stride * int64_t(accumulators.size()));
        auto slot = [&](unsigned accumulator, Value owner) -> Value {
          Value offset = arith::AddIOp::create(
              builder, loc,
              arith::MulIOp::create(builder, loc, owner, integer(slotBytes)),
              integer(accumulator * stride));
          return LLVM::GEPOp::create(builder, loc, shared.getType(),
                                     builder.getI8Type(), shared,
                                     ArrayRef<LLVM::GEPArg>{offset});
        };
        for (auto [i, value] : llvm::enumerate(accumulators))
          LLVM::StoreOp::create(builder, loc, packed(builder, loc, value),
                                slot(i, thread), slotBytes);
        NVVM::Barrier0Op::create(builder, loc);
        for (auto [i, value] : llvm::enumerate(accumulators)) {
          Type type = value.getType();
          Value sum;
          for (int64_t w = 0; w < mapping.team; ++w) {
            Value owner = arith::AddIOp::create(builder, loc, lane,
                                                integer(w * warpSize));
            Value part =
                unpacked(builder, loc,
                         LLVM::LoadOp::create(builder, loc, packedType(type),
                                              slot(i, owner), slotBytes),
                         type);
            sum = w == 0 ? part
                         : combine(builder, loc, (*combiners)[i % results], sum,
                                   part);
          }
          value = sum;
        }
        // The next segment's parts take the same room.
        NVVM::Barrier0Op::create(builder, loc);
        valid = both(valid, less(warp, 1));
      }
      for (int64_t at = 0; at < segment.vector; ++at) {
        placeOf(zeros, at);
        for (unsigned i = 0; i < results; ++i) {
          Value &value = accumulators[at * results + i];
          value = combine(builder, loc, (*combiners)[i], init(stage, i), value);
        }
      }
    }
    for (int64_t at = 0; at < segment.vector; ++at) {
      placeOf(zeros, at);
      for (unsigned i = 0; i < results; ++i)
        if (plan.isStored(stage.targets[i]))
          emitter.store(accumulators[at * results + i], stage.targets[i],
                        over(stage, stage.targetIndex[i]));
    }
    emitter.flush(valid, valid);
  }
}

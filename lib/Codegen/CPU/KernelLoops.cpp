//===- KernelLoops.cpp - the code of one kernel
//----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLoops.h"
#include "Emit/EmitComputeLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

/// More pieces than this along one loop are told apart at run time.
static constexpr size_t maxSplits = 16;

/// The loop that runs along the dimension of a part; -1 where none does.
int KernelLoops::loopOf(const ComputeLoop &computeLoop, const Part &part) {
  auto dim = dyn_cast<AffineDimExpr>(computeLoop.targetIndex[0][part.dim]);
  return dim ? int(dim.getPosition()) : -1;
}

/// The part that row loop `slot` runs over, or loop `level` inside the rows.
const ComputeLoop::Part *
KernelLoops::partAlong(ArrayRef<ComputeLoop *> computeLoops, unsigned slot,
                       int level) const {
  for (ComputeLoop *computeLoop : computeLoops)
    for (const Part &part : computeLoop->parts) {
      int loop = loopOf(*computeLoop, part);
      if (loop >= 0 && (level < 0 ? computeLoop->slots[slot] == unsigned(loop)
                                  : computeLoop->loopOfDim[loop] == level))
        return &part;
    }
  return nullptr;
}

/// A loop over `extent`, or over a part of it, in one piece per split; returns
/// the accumulators.
SmallVector<Value> KernelLoops::loop(unsigned dim, int64_t extent,
                                     ArrayRef<int64_t> splits,
                                     ArrayRef<Value> accumulators,
                                     Inside inside, const Part *part) {
  SmallVector<Value> current(accumulators);
  if (extent == 0)
    return current;
  SmallVector<int64_t> bounds = {0};
  if (splits.size() <= maxSplits)
    llvm::append_range(bounds, splits);
  bounds.push_back(extent);
  for (unsigned i = 0; i + 1 < bounds.size(); ++i) {
    emitter.space.dims[dim] = {bounds[i], bounds[i + 1] - 1};
    Value from = emitter.constant(bounds[i]),
          to = emitter.constant(bounds[i + 1]);
    if (part) {
      // A start outside of the dimension must not wrap around.
      Value start = emitter.position(part->start);
      start = arith::MaxSIOp::create(builder, loc, start,
                                     emitter.constant(-part->size));
      start =
          arith::MinSIOp::create(builder, loc, start, emitter.constant(extent));
      Value end = arith::AddIOp::create(builder, loc, start,
                                        emitter.constant(part->size));
      from = arith::MaxSIOp::create(builder, loc, from, start);
      to = arith::MinSIOp::create(builder, loc, to, end);
    }
    auto forOp = scf::ForOp::create(builder, loc, from, to, emitter.constant(1),
                                    current);
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *body = forOp.getBody();
      if (!body->empty() && current.empty())
        builder.setInsertionPoint(body->getTerminator());
      else
        builder.setInsertionPointToEnd(body);
      emitter.dims[dim] = forOp.getInductionVar();
      emitter.clear();
      SmallVector<Value> next =
          inside(SmallVector<Value>(forOp.getRegionIterArgs()));
      if (!current.empty())
        scf::YieldOp::create(builder, loc, next);
    }
    emitter.clear();
    current.assign(forOp.getResults().begin(), forOp.getResults().end());
  }
  emitter.space.dims[dim] = {0, extent - 1};
  return current;
}

/// All places at which some compute loop cuts the loop `dimOf(computeLoop)`.
template <typename DimOf>
static SmallVector<int64_t> splitsOf(ArrayRef<ComputeLoop *> computeLoops,
                                     DimOf dimOf) {
  SmallVector<int64_t> splits;
  for (ComputeLoop *computeLoop : computeLoops)
    for (int dim : dimOf(*computeLoop))
      llvm::append_range(splits, computeLoop->reads.splits[dim]);
  llvm::sort(splits);
  splits.erase(llvm::unique(splits), splits.end());
  return splits;
}

void KernelLoops::rows(unsigned slot) {
  if (slot == fusedKernel.rowExtents.size()) {
    for (const LoopNest &nest : fusedKernel.loopNests)
      loopNest(nest);
    return;
  }
  SmallVector<int64_t> splits =
      splitsOf(fusedKernel.computeLoops, [&](const ComputeLoop &computeLoop) {
        return SmallVector<int>{int(computeLoop.slots[slot])};
      });
  loop(
      slot, fusedKernel.rowExtents[slot], splits, {},
      [&](ArrayRef<Value>) {
        rows(slot + 1);
        return SmallVector<Value>();
      },
      partAlong(fusedKernel.computeLoops, slot, /*level=*/-1));
}

/// One loop of a nest.
SmallVector<Value> KernelLoops::level(const LoopNest &loopNest, unsigned number,
                                      ArrayRef<Value> accumulators,
                                      Inside inside) {
  SmallVector<int64_t> splits =
      splitsOf(loopNest.computeLoops, [&](const ComputeLoop &computeLoop) {
        SmallVector<int> dims;
        for (auto [dim, loop] : llvm::enumerate(computeLoop.loopOfDim))
          if (loop == int(number))
            dims.push_back(dim);
        return dims;
      });
  return loop(fusedKernel.rowExtents.size() + number, loopNest.extents[number],
              splits, accumulators, inside,
              partAlong(loopNest.computeLoops, /*slot=*/0, number));
}

/// Loops of a nest without accumulators, in this order.
void KernelLoops::levels(const LoopNest &loopNest, ArrayRef<unsigned> numbers,
                         llvm::function_ref<void()> inside) {
  if (numbers.empty())
    return inside();
  level(loopNest, numbers.front(), {}, [&](ArrayRef<Value>) {
    levels(loopNest, numbers.drop_front(), inside);
    return SmallVector<Value>();
  });
}

/// The loops of a nest from `number` on, up to `end`.
SmallVector<Value> KernelLoops::nest(const LoopNest &loopNest, unsigned number,
                                     unsigned end, ArrayRef<Value> accumulators,
                                     Inside inside) {
  if (number == end)
    return inside(accumulators);
  return level(loopNest, number, accumulators, [&](ArrayRef<Value> current) {
    return nest(loopNest, number + 1, end, current, inside);
  });
}

SmallVector<Value> KernelLoops::computeLoops(const LoopNest &loopNest,
                                             ArrayRef<Value> accumulators) {
  emitter.clear();
  auto emit = [&] {
    return emitComputeLoops(
        emitter, fusedKernel, loopNest, accumulators,
        [&](const ComputeLoop &computeLoop, ArrayRef<AffineExpr> exprs) {
          return over(computeLoop, exprs);
        });
  };
  // A part along dimensions that no loop of their own runs along.
  Value inside;
  const ComputeLoop &only = *loopNest.computeLoops.front();
  for (const Part &part : only.parts) {
    int loop = loopOf(only, part);
    if (loop >= 0 && (llvm::is_contained(only.slots, unsigned(loop)) ||
                      only.loopOfDim[loop] >= 0))
      continue;
    Value within = emitter.isWithin(over(only, only.targetIndex[0])[part.dim],
                                    part.start, part.size);
    inside =
        inside ? arith::AndIOp::create(builder, loc, inside, within).getResult()
               : within;
  }
  if (!inside)
    return emit();
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emit();
  emitter.clear();
  return {};
}

/// Stores what the accumulators of an element start from.
void KernelLoops::initialise(const ComputeLoop &computeLoop) {
  linalg::LinalgOp op = computeLoop.reduction;
  SmallVector<Value> starts;
  for (auto [number, index] :
       llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targetIndex))
    starts.push_back(emitter.element(op.getDpsInitOperand(number)->get(),
                                     over(computeLoop, index)));
  for (auto [start, target, index] :
       llvm::zip_equal(starts, computeLoop.targets, computeLoop.targetIndex))
    emitter.store(start, target, over(computeLoop, index));
}

/// One iteration of a reduction whose accumulators are in memory.
void KernelLoops::accumulate(const ComputeLoop &computeLoop) {
  linalg::LinalgOp op = computeLoop.reduction;
  SmallVector<Value> current(op->getNumResults());
  for (auto [number, target, index] :
       llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                       computeLoop.targetIndex))
    current[number] = emitter.element(target, over(computeLoop, index));
  SmallVector<Value> next =
      emitter.body(op, over(computeLoop, computeLoop.base), current);
  for (auto [number, target, index] :
       llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                       computeLoop.targetIndex))
    emitter.store(next[number], target, over(computeLoop, index));
}

/// The columns of a reduction run innermost, their accumulators in memory.
void KernelLoops::columns(const LoopNest &loopNest) {
  ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  unsigned column = loopNest.numParallel - 1;
  SmallVector<unsigned> outer = llvm::to_vector(llvm::seq(0u, column));
  SmallVector<unsigned> reduced = llvm::to_vector(
      llvm::seq<unsigned>(loopNest.numParallel, loopNest.extents.size()));
  levels(loopNest, outer, [&] {
    levels(loopNest, column, [&] { initialise(computeLoop); });
    levels(loopNest, reduced,
           [&] { levels(loopNest, column, [&] { accumulate(computeLoop); }); });
  });
}

/// Asks the condition as far outside as it is known.
void KernelLoops::someElements(const LoopNest &loopNest) {
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  unsigned rows = fusedKernel.rowExtents.size(), known = 0;
  Indices index = over(computeLoop, computeLoop.where->index);
  for (unsigned level = 0; level < loopNest.extents.size(); ++level)
    for (AffineExpr expr : index)
      if (expr.isFunctionOfDim(rows + level))
        known = level + 1;
  nest(loopNest, 0, known, {}, [&](ArrayRef<Value>) {
    emitter.clear();
    Value isNeeded = emitter.element(computeLoop.where->condition, index);
    auto branch = scf::IfOp::create(builder, loc, isNeeded, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    nest(loopNest, known, loopNest.extents.size(), {},
         [&](ArrayRef<Value> current) {
           return computeLoops(loopNest, current);
         });
    emitter.clear();
    return SmallVector<Value>();
  });
}

void KernelLoops::loopNest(const LoopNest &loopNest) {
  unsigned first = fusedKernel.rowExtents.size();
  emitter.dims.resize(first);
  emitter.space.dims.resize(first);
  for (int64_t extent : loopNest.extents) {
    emitter.dims.push_back(Value());
    emitter.space.dims.push_back({0, extent - 1});
  }
  if (!loopNest.computeLoops.front()->scattered.empty())
    return scatter(loopNest);
  if (loopNest.columnwise)
    return columns(loopNest);
  if (loopNest.computeLoops.front()->where)
    return someElements(loopNest);
  nest(loopNest, 0, loopNest.numParallel, {}, [&](ArrayRef<Value>) {
    SmallVector<Value> accumulators;
    emitter.clear();
    for (ComputeLoop *computeLoop : loopNest.computeLoops) {
      if (!computeLoop->isReduction())
        continue;
      for (auto [number, index] : llvm::zip_equal(computeLoop->resultNumbers,
                                                  computeLoop->targetIndex))
        accumulators.push_back(emitter.element(
            computeLoop->reduction.getDpsInitOperand(number)->get(),
            over(*computeLoop, index)));
    }
    accumulators = nest(loopNest, loopNest.numParallel, loopNest.extents.size(),
                        accumulators, [&](ArrayRef<Value> current) {
                          return computeLoops(loopNest, current);
                        });
    unsigned at = 0;
    for (ComputeLoop *computeLoop : loopNest.computeLoops) {
      if (!computeLoop->isReduction())
        continue;
      for (auto [target, index] :
           llvm::zip_equal(computeLoop->targets, computeLoop->targetIndex)) {
        Value result = accumulators[at++];
        if (plan.isStored(target))
          emitter.store(result, target, over(*computeLoop, index));
      }
    }
    return SmallVector<Value>();
  });
}

void KernelLoops::emit() {
  for (int64_t extent : fusedKernel.rowExtents) {
    emitter.dims.push_back(Value());
    emitter.space.dims.push_back({0, extent - 1});
  }
  rows(0);
}

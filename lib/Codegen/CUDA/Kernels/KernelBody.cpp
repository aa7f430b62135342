//===- KernelBody.cpp - the code of one kernel ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads without an element of their own compute another's and do not write
// it: code stays in one line, so that what was computed stays known.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "Emit/EmitComputeLoops.h"
#include "Kernels/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

Value KernelBody::integer(int64_t value, unsigned width) {
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(builder.getIntegerType(width), value));
}

Value KernelBody::less(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                               integer(b, a.getType().getIntOrFloatBitWidth()));
}

Value KernelBody::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

Value KernelBody::wide(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
}

/// The indices of `number`, an i32 or i64, in a row-major box. Divisions of
/// i32 are much cheaper.
Indices KernelBody::split(Value number, ArrayRef<int64_t> extents) {
  Indices indices(extents.size(),
                  getAffineConstantExpr(0, builder.getContext()));
  unsigned width = 64;
  if (product(extents) < (int64_t(1) << 31)) {
    width = 32;
    if (!number.getType().isInteger(32))
      number =
          arith::TruncIOp::create(builder, loc, builder.getI32Type(), number);
  } else {
    number = wide(number);
  }
  int64_t left = product(extents);
  for (int64_t i = int64_t(extents.size()) - 1; i >= 0; --i) {
    if (extents[i] == 1)
      continue;
    left /= extents[i];
    Value index = number;
    if (left > 1) {
      Value extent = integer(extents[i], width);
      index = arith::RemUIOp::create(builder, loc, number, extent);
      number = arith::DivUIOp::create(builder, loc, number, extent);
    }
    indices[i] = emitter.addDim(wide(index), {0, extents[i] - 1});
  }
  return indices;
}

KernelBody::Point KernelBody::pointOf(const NestBox &box, Value packet) {
  Point point;
  SmallVector<int64_t> extents(box.extents);
  if (!extents.empty())
    extents.back() /= box.vector;
  Indices indices = split(packet, extents);
  for (auto [i, index] : llvm::enumerate(indices)) {
    bool last = i + 1 == indices.size();
    if (last && box.vector > 1) {
      // A dim of its own, so that neighbours are told by its stride.
      if (!isa<AffineDimExpr>(index))
        index = emitter.addDim(integer(0, 64), {0, 0});
      point.dim = cast<AffineDimExpr>(index).getPosition();
      point.vector = box.vector;
    }
    point.at.push_back(index * (last ? box.vector : 1) + box.lo[i]);
  }
  return point;
}

/// The packet of this thread in one trip of an unrolled loop, the same for all
/// nests that are cut alike.
KernelBody::Point KernelBody::heldPoint(const SegmentedNest &nest,
                                        unsigned number, int64_t trip) {
  const SegmentedNest *same = &nest;
  for (const SegmentedNest *other : canonical) {
    auto equal = [](const NestBox &a, const NestBox &b) {
      return a.lo == b.lo && a.extents == b.extents && a.vector == b.vector;
    };
    if (other->extents == nest.extents &&
        llvm::equal(other->boxes, nest.boxes, equal))
      same = other;
  }
  if (same == &nest && !llvm::is_contained(canonical, same))
    canonical.push_back(same);
  auto [it, inserted] = points.try_emplace({same, number, trip});
  if (!inserted)
    return it->second;
  const NestBox &box = nest.boxes[number];
  int64_t packets = box.packets(), first = trip * mapping.groupSize;
  Value packet = member, valid;
  if (first)
    packet = arith::AddIOp::create(builder, loc, packet, integer(first));
  if (first + mapping.groupSize > packets) {
    valid = less(packet, packets);
    packet = packets == 1 ? integer(0)
                          : arith::MinUIOp::create(builder, loc, packet,
                                                   integer(packets - 1));
  }
  Point point = pointOf(box, packet);
  point.valid = valid;
  return points[{same, number, trip}] = point;
}

Indices KernelBody::over(const ComputeLoop &computeLoop,
                         ArrayRef<AffineExpr> exprs) {
  Indices result;
  for (AffineExpr expr :
       overKernelDims(computeLoop, exprs, fusedKernel.rowExtents.size()))
    result.push_back(simplify(expr.replaceDims(current), emitter.space));
  return result;
}

void KernelBody::enter(const Point &point, int64_t lane) {
  current.truncate(fusedKernel.rowExtents.size());
  llvm::append_range(current, point.at);
  if (lane)
    current.back() = current.back() + lane;
  emitter.vector = point.vector;
  emitter.lane = lane;
  emitter.dim = point.dim;
}

/// A loop that starts at `first`, which is i32, and `begin`, with threads
/// `step` apart.
SmallVector<Value> KernelBody::strided(
    Value first, int64_t step, int64_t count, ArrayRef<Value> accumulators,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> inside,
    int64_t begin) {
  // The bound of an unsigned i32, with a last step that goes beyond it.
  bool narrow = count + step < (int64_t(1) << 31);
  unsigned width = narrow ? 32 : 64;
  if (!narrow)
    first = wide(first);
  if (begin)
    first = arith::AddIOp::create(builder, loc, first, integer(begin, width));
  auto known = emitter.known();
  auto loads = emitter.loads;
  auto heldPoints = points;
  int64_t outerRuns = runs;
  runs *= llvm::divideCeil(count - begin, step);
  auto loop = scf::ForOp::create(builder, loc, first, integer(count, width),
                                 integer(step, width),
                                 SmallVector<Value>(accumulators));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = loop.getBody();
    if (accumulators.empty())
      builder.setInsertionPoint(body->getTerminator());
    else
      builder.setInsertionPointToEnd(body);
    SmallVector<Value> next =
        inside(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!accumulators.empty())
      scf::YieldOp::create(builder, loc, next);
  }
  runs = outerRuns;
  emitter.restore(std::move(known));
  emitter.loads = std::move(loads);
  points = std::move(heldPoints);
  return SmallVector<Value>(loop.getResults());
}

/// The same loop, of which several steps are done at once: their loads are in
/// flight together.
SmallVector<Value> KernelBody::unrolled(
    Value first, int64_t step, int64_t count, ArrayRef<Value> accumulators,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> inside) {
  int64_t turns = mapping.perThread;
  while (turns > 1 && count < turns * step)
    turns /= 2;
  int64_t whole = turns > 1 ? count - count % (turns * step) : 0;
  SmallVector<Value> now(accumulators);
  if (whole)
    now = strided(first, step * turns, whole, now,
                  [&](Value number, ValueRange values) {
                    SmallVector<Value> next(values);
                    for (int64_t turn = 0; turn < turns; ++turn) {
                      Value mine = number;
                      if (turn)
                        mine = arith::AddIOp::create(
                            builder, loc, number,
                            integer(turn * step,
                                    number.getType().getIntOrFloatBitWidth()));
                      next = inside(mine, next);
                    }
                    return next;
                  });
  if (whole < count)
    now = strided(first, step, count, now, inside, whole);
  return now;
}

SmallVector<Value> KernelBody::computeLoops(const LoopNest &loopNest,
                                            ArrayRef<Value> accumulators) {
  return emitComputeLoops(
      emitter, fusedKernel, loopNest, accumulators,
      [&](const ComputeLoop &computeLoop, ArrayRef<AffineExpr> exprs) {
        return over(computeLoop, exprs);
      });
}

SmallVector<Value> KernelBody::packet(const LoopNest &loopNest,
                                      const Point &point,
                                      ArrayRef<Value> accumulators) {
  int64_t before = emitter.floatOperations;
  SmallVector<Value> next(accumulators);
  emitter.isOwn = both(rowValid, point.valid);
  for (int64_t lane = 0; lane < point.vector; ++lane) {
    enter(point, lane);
    next = computeLoops(loopNest, next);
  }
  emitter.isOwn = rowValid;
  if (point.valid)
    for (auto [value, old] : llvm::zip_equal(next, accumulators))
      value = arith::SelectOp::create(builder, loc, point.valid, value, old);
  // Threads without an element of their own read that of another.
  if (overwrites && point.valid)
    ThreadGroup(builder, loc, mapping.groupSize, thread).barrier();
  emitter.flush(both(rowValid, point.valid), point.valid);
  flops += (emitter.floatOperations - before) * runs;
  return next;
}

/// The element that the reduction's result at `position` starts from.
Value KernelBody::init(const ComputeLoop &computeLoop, unsigned position) {
  linalg::LinalgOp op = computeLoop.reduction;
  return emitter.element(
      op.getDpsInitOperand(computeLoop.resultNumbers[position])->get(),
      over(computeLoop, computeLoop.targetIndex[position]));
}

/// Goes on where `number` is one of the `own` from `first` that a box of the
/// nest has, and returns which of them it is.
Value KernelBody::enterBox(const SegmentedNest &nest, Value number,
                           int64_t first, int64_t own) {
  // Below the first the difference is a large unsigned number.
  if (first)
    number = arith::SubIOp::create(
        builder, loc, number,
        integer(first, number.getType().getIntOrFloatBitWidth()));
  if (nest.boxes.size() > 1) {
    auto branch = scf::IfOp::create(builder, loc, less(number, own),
                                    /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  return number;
}

/// Stores what the nest's reductions end with: `resultOf` each, with its
/// position among the compute loop's results and its number among the nest's.
void KernelBody::storeReductions(
    const LoopNest &loopNest,
    llvm::function_ref<Value(const ComputeLoop &, unsigned, unsigned)>
        resultOf) {
  unsigned number = 0;
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    if (!computeLoop->isReduction())
      continue;
    for (auto [position, target] : llvm::enumerate(computeLoop->targets)) {
      Value result = resultOf(*computeLoop, position, number++);
      if (!plan.isStored(target))
        continue;
      Indices index = over(*computeLoop, computeLoop->targetIndex[position]);
      emitter.store(result, target, index);
      emitter.forward(target, index, result);
    }
  }
}

void KernelBody::emit(Value shared) {
  thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  blockNumber = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    emitter.written.insert_range(computeLoop->targets);
  block[0] = mapping.block;
  if (mapping.kind == Mapping::Pointwise)
    pointwise();
  else if (mapping.kind == Mapping::Tiles)
    tiles(shared);
  else if (mapping.splitFactor > 1 && mapping.kind == Mapping::Rows)
    splitRows(shared);
  else if (mapping.kind == Mapping::Columns)
    columns(shared);
  else if (mapping.kind == Mapping::Scatter)
    scatter();
  else
    rows(shared);
  sharedBytes = sharedUsed;
}

//===- RowFusion.cpp - rows that stages have in common --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compute loop shares the rows of a kernel when every element it reads from
// the kernel was written in the same row: the outer loops of the kernel are
// those dimensions along which this holds for all members. Reductions that read
// the same rows of a value share them too.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

using namespace mlir;
using namespace tp::target;

/// What a kernel's values may take per row, so that rows stay in the cache.
static constexpr int64_t maxRowBytes = 128 * 1024;

/// The elements of `target` that one row writes: dims of the value that a row
/// loop fixes do not count.
static int64_t rowElements(const ComputeLoop &computeLoop, unsigned target,
                           ArrayRef<unsigned> slots) {
  int64_t elements = 1;
  Value value = computeLoop.targets[target];
  for (auto [expr, size] :
       llvm::zip_equal(computeLoop.targetIndex[target], shapeOf(value))) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !llvm::is_contained(slots, dim.getPosition()))
      elements *= size;
  }
  return elements;
}

static int64_t rowBytes(const StoredValues &plan, const ComputeLoop &computeLoop,
                        ArrayRef<unsigned> slots) {
  int64_t bytes = 0;
  for (unsigned i = 0; i < computeLoop.targets.size(); ++i)
    if (plan.isStored(computeLoop.targets[i]))
      bytes += rowElements(computeLoop, i, slots) *
               elementBytes(plan.storage(computeLoop.targets[i]).elementType);
  return bytes;
}

/// The member that computes `value`, if one does.
static ComputeLoop *producerOf(ArrayRef<ComputeLoop *> members, Value value) {
  for (ComputeLoop *member : members)
    if (llvm::is_contained(member->targets, value))
      return member;
  return nullptr;
}

namespace {
/// Finds, for every slot of a kernel, the dim of a compute loop that runs along
/// it.
class SlotMatcher {
public:
  SlotMatcher(ArrayRef<ComputeLoop *> members, const ComputeLoop &computeLoop)
      : computeLoop(computeLoop), alive(members.front()->slots.size(), true),
        dimOfSlot(alive.size(), -1) {}

  /// `member` touches an element at `index` of its loops, `computeLoop` the
  /// same one at `read`. Slots along which they are not in the same row die.
  void match(const ComputeLoop &member, ArrayRef<AffineExpr> index,
             ArrayRef<AffineExpr> read);

  CommonRows rows() const;

private:
  const ComputeLoop &computeLoop;
  SmallVector<bool> alive;
  SmallVector<int> dimOfSlot;
};
} // namespace

void SlotMatcher::match(const ComputeLoop &member, ArrayRef<AffineExpr> index,
                        ArrayRef<AffineExpr> read) {
  for (unsigned slot = 0; slot < alive.size(); ++slot) {
    unsigned rowDim = member.slots[slot];
    auto at = llvm::find(
        index, getAffineDimExpr(rowDim, computeLoop.op->getContext()));
    AffineDimExpr dim(nullptr);
    if (at != index.end())
      dim = dyn_cast<AffineDimExpr>(read[at - index.begin()]);
    if (!dim || computeLoop.reduces[dim.getPosition()] ||
        computeLoop.extents[dim.getPosition()] != member.extents[rowDim] ||
        (dimOfSlot[slot] != -1 && dimOfSlot[slot] != int(dim.getPosition()))) {
      alive[slot] = false;
      continue;
    }
    dimOfSlot[slot] = dim.getPosition();
  }
}

CommonRows SlotMatcher::rows() const {
  CommonRows rows;
  for (unsigned slot = 0; slot < alive.size(); ++slot)
    if (alive[slot] && dimOfSlot[slot] >= 0 &&
        !llvm::is_contained(rows.slots, unsigned(dimOfSlot[slot]))) {
      rows.kept.push_back(slot);
      rows.slots.push_back(dimOfSlot[slot]);
    }
  return rows;
}

/// The rows in which two reductions read the same elements of a value, if they
/// are all that either has.
static std::optional<CommonRows> rowsReadTwice(ArrayRef<ComputeLoop *> members,
                                               const ComputeLoop &computeLoop) {
  if (!computeLoop.isReduction())
    return std::nullopt;
  for (const Read &read : computeLoop.reads.reads)
    for (ComputeLoop *member : members)
      for (const Read &other : member->reads.reads) {
        if (other.root != read.root || !member->isReduction() || read.isInit ||
            other.isInit || read.dataDependent || other.dataDependent)
          continue;
        SlotMatcher matcher(members, computeLoop);
        matcher.match(*member, other.index, read.index);
        CommonRows rows = matcher.rows();
        if (rows.kept.size() == member->slots.size() &&
            rows.slots.size() == parallelDims(computeLoop).size())
          return rows;
      }
  return std::nullopt;
}

/// Whether a reduction that could run in many rows would run in few.
static bool losesRows(const ComputeLoop &computeLoop, ArrayRef<unsigned> slots,
                      int64_t fewRows) {
  if (!computeLoop.isReduction())
    return false;
  int64_t rows = 1, own = 1;
  for (unsigned dim : slots)
    rows *= computeLoop.extents[dim];
  for (unsigned dim : parallelDims(computeLoop))
    own *= computeLoop.extents[dim];
  return rows < fewRows && own >= 4 * rows;
}

SmallVector<unsigned> tp::target::parallelDims(const ComputeLoop &computeLoop) {
  SmallVector<unsigned> dims;
  for (auto [dim, extent] : llvm::enumerate(computeLoop.extents))
    if (!computeLoop.reduces[dim] && extent != 1)
      dims.push_back(dim);
  return dims;
}

std::optional<CommonRows>
tp::target::commonRows(const StoredValues &plan, ArrayRef<ComputeLoop *> members,
                       const ComputeLoop &computeLoop) {
  // A reduction over columns has no rows to share.
  if (isColumnwise(plan, computeLoop) ||
      llvm::any_of(members, [&](ComputeLoop *member) {
        return isColumnwise(plan, *member);
      }))
    return std::nullopt;
  SlotMatcher matcher(members, computeLoop);
  bool readsGroup = false;
  for (const Read &read : computeLoop.reads.reads) {
    ComputeLoop *producer = producerOf(members, read.root);
    if (!producer)
      continue;
    if (read.dataDependent)
      return std::nullopt;
    readsGroup = true;
    unsigned target =
        llvm::find(producer->targets, read.root) - producer->targets.begin();
    matcher.match(*producer, producer->targetIndex[target], read.index);
  }
  std::optional<CommonRows> rows =
      readsGroup ? matcher.rows() : rowsReadTwice(members, computeLoop);
  if (!rows)
    return std::nullopt;
  int64_t fewRows = plan.targetTraits().fewRows;
  int64_t bytes = rowBytes(plan, computeLoop, rows->slots);
  bool loses = losesRows(computeLoop, rows->slots, fewRows);
  for (ComputeLoop *member : members) {
    SmallVector<unsigned> fewer;
    for (unsigned slot : rows->kept)
      fewer.push_back(member->slots[slot]);
    bytes += rowBytes(plan, *member, fewer);
    loses |= losesRows(*member, fewer, fewRows);
  }
  if (bytes > maxRowBytes || loses)
    return std::nullopt;
  return rows;
}

//===- ShardBlocks.cpp - the blocks that shards travel in -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/ShardBlocks.h"
#include "tp/Sharding/LayoutChange.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>

using namespace tp;

/// `layout` with dimension `dim` split over `kept` alone, and no other.
static Layout withParts(const Layout &layout, int64_t dim,
                        llvm::ArrayRef<AxisPart> kept) {
  Layout result = layout;
  for (AxisPlacement &entry : result.entries)
    if (!entry.placement.isShard() || entry.placement.dim != dim ||
        !llvm::is_contained(kept, entry.part))
      entry.placement = Placement::replicate();
  return result;
}

/// The segments of dimension `dim` where nothing splits them.
static std::vector<Interval> unsplitSegments(const Layout &layout, int64_t dim,
                                             int64_t size) {
  std::vector<int64_t> sizes = {size};
  for (const AxisPlacement &entry : layout.entries)
    if (entry.placement.isShard() && entry.placement.dim == dim &&
        !entry.placement.segments.empty())
      sizes = entry.placement.segments;
  std::vector<Interval> result;
  int64_t start = 0;
  for (int64_t segment : sizes) {
    result.push_back({start, start, segment});
    start += segment;
  }
  return result;
}

ShardBlocks tp::shardBlocks(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                            const Layout &layout, int64_t dim,
                            llvm::ArrayRef<AxisPart> parts) {
  Layout fine = cutAt(mesh, shape, layout, parts);
  std::vector<AxisPart> group = cutAt(parts, partsOf(fine));
  fine = withoutTrivialParts(std::move(fine), group);
  std::vector<AxisPart> all = fine.partsSharding(dim);
  assert(all.size() >= group.size() &&
         llvm::ArrayRef(all).take_back(group.size()) == llvm::ArrayRef(group) &&
         "the parts are the minor-most on the dimension");
  Layout coarse =
      withParts(fine, dim, llvm::ArrayRef(all).drop_back(group.size()));
  fine = withParts(fine, dim, all);

  ShardBlocks result;
  for (AxisPart part : group)
    result.count *= part.size;
  result.bufferSize = coarse.localSize(dim, shape[dim]);
  result.blockSize = fine.localSize(dim, shape[dim]);
  if (shape[dim] == 0)
    return result;

  // The rank at position 0 of all axes holds as much as a rank can of every
  // segment, and so do, together, the ranks of its group.
  std::vector<Interval> whole =
      coarse.intervals(mesh, dim, shape[dim], mesh.rankAlong(group, 0));
  if (all.size() == group.size())
    whole = unsplitSegments(layout, dim, shape[dim]);
  std::vector<Interval> block =
      fine.intervals(mesh, dim, shape[dim], mesh.rankAlong(group, 0));
  for (auto [buffer, shard] : llvm::zip_equal(whole, block))
    result.segments.push_back(
        {buffer.localOffset, buffer.size, shard.localOffset, shard.size, {}});
  for (int64_t position = 0; position < result.count; ++position) {
    std::vector<Interval> held =
        fine.intervals(mesh, dim, shape[dim], mesh.rankAlong(group, position));
    for (auto [segment, buffer] : llvm::zip_equal(result.segments, whole)) {
      auto found = llvm::find_if(held, [&](const Interval &interval) {
        return interval.localOffset == segment.blockStart;
      });
      segment.runs.push_back(
          found == held.end()
              ? BlockRun()
              : BlockRun{found->globalOffset - buffer.globalOffset,
                         found->size});
    }
  }
  return result;
}

namespace {
/// Puts stretches together in order; neighbours become one.
class CopyRunList {
public:
  void add(int64_t offset, int64_t size) {
    if (size == 0)
      return;
    if (!list.empty()) {
      CopyRun &last = list.back();
      bool continues =
          offset < 0 ? last.offset < 0
                     : last.offset >= 0 && last.offset + last.size == offset;
      if (continues) {
        last.size += size;
        return;
      }
    }
    list.push_back({offset < 0 ? -1 : offset, size});
  }
  std::vector<CopyRun> list;
};
} // namespace

std::vector<CopyRun> tp::blocksFromBuffer(const ShardBlocks &blocks) {
  CopyRunList result;
  for (int64_t position = 0; position < blocks.count; ++position)
    for (const SegmentBlocks &segment : blocks.segments) {
      const BlockRun &run = segment.runs[position];
      result.add(segment.bufferStart + run.bufferOffset, run.size);
      result.add(-1, segment.blockSize - run.size);
    }
  return result.list;
}

std::vector<CopyRun> tp::blocksFromSegment(const SegmentBlocks &segment) {
  CopyRunList result;
  for (const BlockRun &run : segment.runs) {
    result.add(run.bufferOffset, run.size);
    result.add(-1, segment.blockSize - run.size);
  }
  return result.list;
}

std::vector<CopyRun> tp::bufferFromBlocks(const ShardBlocks &blocks) {
  CopyRunList result;
  for (const SegmentBlocks &segment : blocks.segments)
    for (int64_t position = 0; position < blocks.count; ++position)
      result.add(position * blocks.blockSize + segment.blockStart,
                 segment.runs[position].size);
  return result.list;
}

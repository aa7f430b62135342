//===- ShardBlocks.h - the blocks that shards travel in ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective exchanges blocks of one size: a block is the buffer of one
// member's shard, padding included. The buffer that is not split over the
// group has no padding between its shards, and one after the other the
// segments of a packed dimension. So blocks are padded before they are sent
// and compacted after they were received. How is the same on all ranks; on
// ranks that hold less than others of the whole, what is moved beyond the end
// of the valid elements is padding.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_SHARDBLOCKS_H
#define TP_SHARDING_SHARDBLOCKS_H

#include "tp/Sharding/Layout.h"

namespace tp {

/// What one member has of a segment: `size` elements at `bufferOffset` of it.
/// In the member's block they come first; the rest of it is padding.
struct BlockRun {
  int64_t bufferOffset = 0, size = 0;
};

/// One segment of a dimension on one rank: `bufferSize` elements before it is
/// split over the group, from `bufferStart` on, `blockSize` elements of every
/// block from `blockStart` on. `runs` has one entry per member of the group, in
/// the group's order; their sizes add up to `bufferSize`.
struct SegmentBlocks {
  int64_t bufferStart = 0, bufferSize = 0;
  int64_t blockStart = 0, blockSize = 0;
  std::vector<BlockRun> runs;
};

/// How one dimension of a rank's buffer splits over a group.
struct ShardBlocks {
  std::vector<SegmentBlocks> segments;
  /// The number of members of the group.
  int64_t count = 1;
  /// Elements before the split, and of one block.
  int64_t bufferSize = 0, blockSize = 0;
};

/// A stretch of a buffer that is put together from another: `size` elements
/// from `offset` of the other on, or of padding where `offset` is -1.
struct CopyRun {
  int64_t offset = 0, size = 0;
  bool operator==(const CopyRun &) const = default;
};

/// The blocks over `parts`, the minor-most that shard `dim` in `layout`.
ShardBlocks shardBlocks(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                        const Layout &layout, int64_t dim,
                        llvm::ArrayRef<AxisPart> parts);

/// The blocks one after the other, made of the buffer.
std::vector<CopyRun> blocksFromBuffer(const ShardBlocks &blocks);
/// One segment's parts of the blocks one after the other, made of the segment.
std::vector<CopyRun> blocksFromSegment(const SegmentBlocks &segment);
/// The buffer, made of the blocks one after the other.
std::vector<CopyRun> bufferFromBlocks(const ShardBlocks &blocks);

} // namespace tp

#endif // TP_SHARDING_SHARDBLOCKS_H

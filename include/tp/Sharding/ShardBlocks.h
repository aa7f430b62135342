//===- ShardBlocks.h - the blocks that shards travel in ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective exchanges blocks of one size: a block is the buffer of one
// member's shard, padding included. The buffer before the split has no padding
// between its shards, and it has the segments of a packed dimension one after
// the other. So the sender pads blocks, and the receiver compacts them. All
// ranks copy the same ranges; on a rank with fewer valid elements, a range may
// contain padding.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_SHARDBLOCKS_H
#define TP_SHARDING_SHARDBLOCKS_H

#include "tp/Sharding/Layout.h"

namespace tp {

/// One member's part of a segment: `size` elements at `bufferOffset`. They are
/// at the start of the member's block; the rest of the block is padding.
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

/// A run of a buffer that is copied from another one: `size` elements at
/// `offset` of the other buffer, or `size` elements of padding if `offset` is
/// -1.
struct CopyRun {
  int64_t offset = 0, size = 0;
  bool operator==(const CopyRun &) const = default;
};

/// The blocks over `parts`, the minor-most that shard `dim` in `layout`.
ShardBlocks shardBlocks(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                        const Layout &layout, int64_t dim,
                        llvm::ArrayRef<AxisPart> parts);

/// How the concatenated blocks are copied from the buffer.
std::vector<CopyRun> blocksFromBuffer(const ShardBlocks &blocks);
/// The same for one segment: its part of every block, from the segment.
std::vector<CopyRun> blocksFromSegment(const SegmentBlocks &segment);
/// How the buffer is copied from the concatenated blocks.
std::vector<CopyRun> bufferFromBlocks(const ShardBlocks &blocks);

} // namespace tp

#endif // TP_SHARDING_SHARDBLOCKS_H

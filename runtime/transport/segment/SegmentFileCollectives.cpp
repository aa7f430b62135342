//===- SegmentFileCollectives.cpp - collectives through a file ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives of ranks that do not map each other's memory: under a limit of
// the address space. They read it from the segment's file, which takes a piece
// of each member's input and no room that grows with the tensor. The pieces are
// combined in the order of SegmentCollectives.cpp, so results are the same.
//
//===----------------------------------------------------------------------===//

#include "SegmentTransport.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;

/// Shorter blocks are read several at once.
constexpr int64_t longBlock = 4096;

Status SegmentTransport::readInput(const Membership &membership,
                                   const CollectiveCall &call, int64_t position,
                                   int64_t byteOffset, int64_t bytes,
                                   char *to) {
  if (call.command->input.space == Space::Constant) {
    std::memcpy(to, static_cast<const char *>(call.input) + byteOffset, bytes);
    return {};
  }
  uint64_t input = post(membership, membership.members[position]).input;
  return segment.read(input + byteOffset, bytes, to);
}

/// Reduces `count` elements, which begin at `byteOffset` of every input.
Status SegmentTransport::reduceFromFile(const Membership &membership,
                                        const CollectiveCall &call,
                                        RankSide &side, int64_t byteOffset,
                                        int64_t count, char *output) {
  const Collective &row = *call.row;
  int64_t elementBytes = byteSize(row.dtype), end = count * elementBytes;
  int64_t members = membership.members.size();
  for (int64_t done = 0; done < end; done += pieceBytes) {
    int64_t bytes = std::min(pieceBytes, end - done);
    for (int64_t p = 0; p < members; ++p) {
      char *piece = side.pieces.data() + p * pieceBytes;
      side.inputs[p] = piece;
      if (Status status =
              readInput(membership, call, p, byteOffset + done, bytes, piece);
          !status.ok())
        return status;
    }
    reduce(row.dtype, row.reduction, side.inputs.data(), members, 0,
           bytes / elementBytes, output + done);
  }
  return {};
}

/// An all_gather, a reduce_scatter or an all_to_all: of every member a block
/// out of each `stride` bytes.
Status SegmentTransport::moveBlocksFromFile(const Membership &membership,
                                            const CollectiveCall &call,
                                            RankSide &side) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = *call.row;
  int64_t members = membership.members.size();
  int64_t blockBytes = command.block * byteSize(row.dtype);
  bool isGather = row.kind == CollectiveKind::AllGather;
  bool reduces = row.kind == CollectiveKind::ReduceScatter;
  int64_t stride = isGather ? blockBytes : members * blockBytes;
  int64_t start = isGather ? 0 : membership.position * blockBytes;
  auto *output = static_cast<char *>(call.output);
  auto target = [&](int64_t o, int64_t p) {
    return output +
           (isGather ? o * members + p : p * command.outer + o) * blockBytes;
  };
  int64_t atOnce = blockBytes < longBlock ? pieceBytes / stride : 0;
  if (atOnce < 2) {
    for (int64_t o = 0; o < command.outer; ++o) {
      if (reduces)
        if (Status status =
                reduceFromFile(membership, call, side, o * stride + start,
                               command.block, output + o * blockBytes);
            !status.ok())
          return status;
      for (int64_t p = 0; p < members && !reduces; ++p)
        if (Status status = readInput(membership, call, p, o * stride + start,
                                      blockBytes, target(o, p));
            !status.ok())
          return status;
    }
    return {};
  }
  for (int64_t first = 0; first < command.outer; first += atOnce) {
    int64_t end = std::min(first + atOnce, command.outer);
    for (int64_t p = 0; p < members; ++p) {
      char *piece = side.pieces.data() + p * pieceBytes;
      side.inputs[p] = piece;
      if (Status status = readInput(membership, call, p, first * stride,
                                    (end - first) * stride, piece);
          !status.ok())
        return status;
    }
    for (int64_t o = first; o < end; ++o) {
      int64_t place = (o - first) * stride + start;
      if (reduces)
        reduce(row.dtype, row.reduction, side.inputs.data(), members, place,
               command.block, output + o * blockBytes);
      for (int64_t p = 0; p < members && !reduces; ++p)
        std::memcpy(target(o, p), side.inputs[p] + place, blockBytes);
    }
  }
  return {};
}

Status SegmentTransport::allReduceFromFile(GroupBarrier &groupBarrier,
                                           const CollectiveCall &call) {
  Membership &membership = groupBarrier.membership;
  int64_t members = membership.members.size();
  int64_t elementBytes = byteSize(call.row->dtype);
  int64_t count = call.command->outer * call.command->block;
  auto *output = static_cast<char *>(call.output);
  auto begin = [&](int64_t p) {
    return firstReduced(p, members, count, elementBytes) * elementBytes;
  };
  int64_t mine = begin(membership.position);
  if (Status status =
          reduceFromFile(membership, call, sides[groupBarrier.rank], mine,
                         (begin(membership.position + 1) - mine) / elementBytes,
                         output + mine);
      !status.ok())
    return status;
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  for (int64_t step = 1; step < members; ++step) {
    int64_t p = (membership.position + step) % members;
    uint64_t reduced = post(membership, membership.members[p]).output;
    if (Status status = segment.read(
            reduced + begin(p), begin(p + 1) - begin(p), output + begin(p));
        !status.ok())
      return status;
  }
  return {};
}

Status SegmentTransport::exchangeFromFile(GroupBarrier &groupBarrier,
                                          const CollectiveCall &call) {
  Membership &membership = groupBarrier.membership;
  const CollectiveCommand &command = *call.command;
  Status status;
  switch (call.row->kind) {
  case CollectiveKind::AllReduce:
    status = allReduceFromFile(groupBarrier, call);
    break;
  case CollectiveKind::Permute:
    status =
        readInput(membership, call, command.sources[membership.position], 0,
                  command.outer * command.block * byteSize(call.row->dtype),
                  static_cast<char *>(call.output));
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    status = moveBlocksFromFile(membership, call, sides[groupBarrier.rank]);
    break;
  }
  // Nobody may write its input again while others still read it.
  return status.ok() ? waitForGroup(groupBarrier) : status;
}

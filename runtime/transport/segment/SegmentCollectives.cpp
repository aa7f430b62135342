//===- SegmentCollectives.cpp - collectives in shared memory --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentTransport.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;

static uint64_t collectiveTag(int64_t entry, const Collective &row,
                              const CollectiveCommand &command) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t part : {entry, row.id, int64_t(row.kind), int64_t(row.dtype),
                       int64_t(row.reduction), command.outer, command.block})
    hash = (hash ^ uint64_t(part)) * 0x100000001b3u;
  return hash;
}

Status SegmentTransport::checkTags(GroupBarrier &groupBarrier, uint64_t tag) {
  for (int64_t member : groupBarrier.membership.members) {
    if (post(groupBarrier.membership, member).tag == tag)
      continue;
    Failure cause{Code::RankFailed, member,
                  "the ranks diverged: rank " +
                      std::to_string(groupBarrier.rank) + " is in " +
                      entry.describe(progress(groupBarrier.rank)) + ", rank " +
                      std::to_string(member) + " in " +
                      entry.describe(progress(member))};
    abort(cause);
    return {cause.code, cause.message};
  }
  return {};
}

/// Computes this rank's whole output from all members' inputs.
void SegmentTransport::combine(const Membership &membership,
                               const CollectiveCall &call,
                               const char *const *inputs) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = *call.row;
  auto *output = static_cast<char *>(call.output);
  int64_t members = membership.members.size();
  int64_t elementBytes = byteSize(row.dtype);
  int64_t blockBytes = command.block * elementBytes;
  switch (row.kind) {
  case CollectiveKind::AllReduce:
    return reduce(row.dtype, row.reduction, inputs, members, 0,
                  command.outer * command.block, output);
  case CollectiveKind::AllGather:
    for (int64_t o = 0; o < command.outer; ++o)
      for (int64_t p = 0; p < members; ++p)
        std::memcpy(output + (o * members + p) * blockBytes,
                    inputs[p] + o * blockBytes, blockBytes);
    return;
  case CollectiveKind::ReduceScatter:
    for (int64_t o = 0; o < command.outer; ++o)
      reduce(row.dtype, row.reduction, inputs, members,
             (o * members + membership.position) * blockBytes, command.block,
             output + o * blockBytes);
    return;
  case CollectiveKind::AllToAll:
    for (int64_t p = 0; p < members; ++p)
      for (int64_t o = 0; o < command.outer; ++o)
        std::memcpy(output + (p * command.outer + o) * blockBytes,
                    inputs[p] +
                        (o * members + membership.position) * blockBytes,
                    blockBytes);
    return;
  case CollectiveKind::Permute:
    std::memcpy(output, inputs[command.sources[membership.position]],
                command.outer * blockBytes);
    return;
  }
}

int64_t SegmentTransport::firstReduced(int64_t position, int64_t members,
                                       int64_t count, int64_t elementBytes) {
  int64_t line = std::max<int64_t>(64 / elementBytes, 1);
  int64_t slice = ((count + members - 1) / members + line - 1) / line * line;
  return std::min(position * slice, count);
}

Status SegmentTransport::exchangeInline(GroupBarrier &groupBarrier,
                                        const CollectiveCall &call,
                                        int64_t inputBytes, uint64_t tag) {
  Membership &membership = groupBarrier.membership;
  int64_t turn = membership.calls % 2;
  post(membership, groupBarrier.rank) = {0, 0, tag};
  std::memcpy(
      segment.inlinePayload(membership.channel, groupBarrier.rank, turn),
      call.input, inputBytes);
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  if (Status status = checkTags(groupBarrier, tag); !status.ok())
    return status;
  std::vector<const char *> &inputs = sides[groupBarrier.rank].inputs;
  for (size_t p = 0; p < membership.members.size(); ++p)
    inputs[p] =
        segment.inlinePayload(membership.channel, membership.members[p], turn);
  combine(membership, call, inputs.data());
  return {};
}

Status SegmentTransport::exchangeLarge(GroupBarrier &groupBarrier,
                                       const CollectiveCall &call,
                                       uint64_t tag) {
  Membership &membership = groupBarrier.membership;
  const CollectiveCommand &command = *call.command;
  const Collective &row = *call.row;
  RankSide &side = sides[groupBarrier.rank];
  // Every rank's constants hold the same bytes, so its own stand for them all.
  bool constantInput = command.input.space == Space::Constant;
  int64_t rank = groupBarrier.rank;
  post(membership,
       rank) = {constantInput ? 0 : segment.offsetOf(rank, call.input),
                segment.offsetOf(rank, call.output), tag};
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  if (Status status = checkTags(groupBarrier, tag); !status.ok())
    return status;
  if (!segment.mapsAllMemory())
    return exchangeFromFile(groupBarrier, call);
  int64_t members = membership.members.size();
  for (int64_t p = 0; p < members; ++p) {
    int64_t member = membership.members[p];
    const Post &other = post(membership, member);
    side.inputs[p] = constantInput ? static_cast<const char *>(call.input)
                                   : segment.at(member, other.input);
    side.outputs[p] = segment.at(member, other.output);
  }
  if (row.kind != CollectiveKind::AllReduce) {
    combine(membership, call, side.inputs.data());
    // Nobody may write its input again while others still read it.
    return waitForGroup(groupBarrier);
  }
  // Each member reduces one slice for all. A slice is read by its owner alone,
  // so that the output may be the input.
  int64_t elementBytes = byteSize(row.dtype);
  int64_t count = command.outer * command.block;
  auto first = [&](int64_t p) {
    return firstReduced(p, members, count, elementBytes);
  };
  int64_t mine = first(membership.position);
  reduce(row.dtype, row.reduction, side.inputs.data(), members,
         mine * elementBytes, first(membership.position + 1) - mine,
         side.outputs[membership.position] + mine * elementBytes);
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  for (int64_t step = 1; step < members; ++step) {
    int64_t p = (membership.position + step) % members;
    std::memcpy(static_cast<char *>(call.output) + first(p) * elementBytes,
                side.outputs[p] + first(p) * elementBytes,
                (first(p + 1) - first(p)) * elementBytes);
  }
  return waitForGroup(groupBarrier);
}

Status SegmentTransport::collective(int64_t rank, const CollectiveCall &call,
                                    double timeoutSeconds) {
  const CollectiveCommand &command = *call.command;
  const Collective &row = *call.row;
  GroupBarrier groupBarrier = begin(rank, row.group, timeoutSeconds);
  int64_t inputBytes = command.outer * command.block * byteSize(row.dtype);
  if (row.kind == CollectiveKind::ReduceScatter ||
      row.kind == CollectiveKind::AllToAll)
    inputBytes *= groupBarrier.membership.members.size();
  uint64_t tag = collectiveTag(progress(rank) / commandsPerEntry, row, command);
  return inputBytes <= SharedSegment::inlineBytes
             ? exchangeInline(groupBarrier, call, inputBytes, tag)
             : exchangeLarge(groupBarrier, call, tag);
}

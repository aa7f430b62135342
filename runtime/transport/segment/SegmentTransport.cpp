//===- SegmentTransport.cpp - barriers of ranks that share memory ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentTransport.h"
#include "tp/Runtime/Transport/AbsentRanks.h"
#include <algorithm>
#include <cstring>
#include <sched.h>
#include <thread>

using namespace tp::runtime;

using Clock = std::chrono::steady_clock;

static Clock::time_point deadlineAfter(double seconds) {
  // Far enough, and no overflow of the clock's integers.
  constexpr double longest = 1e8;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(std::min(seconds, longest)));
}

static int64_t usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return std::max(1u, std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

SegmentTransport::SegmentTransport(const EntryView &entry)
    : entry(entry), segment(entry), sides(entry.numRanks()),
      ownCore(entry.numRanks() <= usableCores()) {}

SegmentTransport::GroupBarrier
SegmentTransport::begin(int64_t rank, int64_t channel, double timeoutSeconds) {
  Membership &membership = sides[rank].channels[channel];
  ++membership.calls;
  return {rank, membership, timeoutSeconds, deadlineAfter(timeoutSeconds)};
}

Status SegmentTransport::attach(int64_t rank) {
  RankSide &side = sides[rank];
  // A rank that is made again goes on counting where it was.
  if (!side.channels.empty())
    return {};
  if (Status status = segment.mapMemory(rank); !status.ok())
    return status;
  int64_t largest = size();
  for (int64_t channel = 0; channel <= segment.worldChannel(); ++channel) {
    Membership &membership = side.channels.emplace_back();
    membership.channel = channel;
    if (channel == segment.worldChannel()) {
      for (int64_t r = 0; r < size(); ++r)
        membership.members.push_back(r);
      membership.position = rank;
      continue;
    }
    const AxisParts &axes = entry.groups[channel].axes;
    membership.members = entry.mesh.groupOf(rank, axes);
    membership.position = positionOf(entry.coordinates(rank), axes);
  }
  side.inputs.resize(largest);
  side.outputs.resize(largest);
  if (!segment.mapsAllMemory())
    side.pieces.resize(largest * pieceBytes);
  // To have come is a sign too.
  heartbeat(rank);
  return {};
}

Status SegmentTransport::copyMemory(int64_t rank, int64_t offset, int64_t bytes,
                                    char *to) {
  if (!segment.memory(rank))
    return segment.read(segment.offsetOfMemory(rank) + offset, bytes, to);
  std::memcpy(to, segment.memory(rank) + offset, bytes);
  return {};
}

Status SegmentTransport::notJoined(GroupBarrier &groupBarrier) {
  const Membership &membership = groupBarrier.membership;
  std::string missing;
  int count = 0;
  bool areAllThere = true;
  for (int64_t member : membership.members) {
    ArrivalSlot &arrivalSlot = segment.arrivalSlot(membership.channel, member);
    if (int32_t(arrivalSlot.arrived.load() - membership.arrivals) >= 0)
      continue;
    bool isThere = segment.rankState(member).heartbeats.load() != 0;
    areAllThere &= isThere;
    missing += (count++ ? "; rank " : "rank ") + std::to_string(member) +
               (isThere ? " is at " + entry.describe(progress(member))
                        : " has not come");
  }
  if (!areAllThere)
    missing += adviceOnAbsentRanks;
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g", groupBarrier.timeoutSeconds);
  Failure cause{Code::Timeout, groupBarrier.rank,
                "rank " + std::to_string(groupBarrier.rank) + " waited " +
                    seconds + " s in " +
                    entry.describe(progress(groupBarrier.rank)) + " for " +
                    std::to_string(count) + " of " +
                    std::to_string(membership.members.size()) +
                    " ranks that did not join: " + missing};
  abort(cause);
  return {Code::Timeout, cause.message};
}

Status SegmentTransport::peerEnded() {
  if (std::optional<int64_t> rank = peers->ended()) {
    ProcessIdentity process =
        ProcessIdentity::unpack(segment.rankState(*rank).holder.load());
    abort({Code::RankFailed, *rank,
           "rank " + std::to_string(*rank) + ", " + process.text() +
               ", ended in " + entry.describe(progress(*rank)) +
               ", before the run did"});
  }
  return stopped();
}

Status SegmentTransport::waitForGroup(GroupBarrier &groupBarrier) {
  if (Status status = checkRunning(); !status.ok())
    return status;
  Membership &membership = groupBarrier.membership;
  uint32_t target = ++membership.arrivals;
  announceArrival(segment.arrivalSlot(membership.channel, groupBarrier.rank),
                  target);
  for (size_t i = 0; i < membership.members.size();) {
    int64_t member = membership.members[i];
    if (member == groupBarrier.rank) {
      ++i;
      continue;
    }
    switch (waitForArrival(
        segment.control(), segment.arrivalSlot(membership.channel, member),
        target, ownCore, peers.get(), groupBarrier.deadline)) {
    case WaitResult::Arrived:
      ++i;
      break;
    case WaitResult::Aborted:
      return stopped();
    case WaitResult::PeerEnded:
      return peerEnded();
    case WaitResult::TimedOut:
      if (!groupBarrier.heartbeats)
        return notJoined(groupBarrier);
      uint32_t signs = heartbeats(membership);
      if (signs == *groupBarrier.heartbeats)
        return notJoined(groupBarrier);
      groupBarrier.heartbeats = signs;
      groupBarrier.deadline = deadlineAfter(groupBarrier.timeoutSeconds);
    }
  }
  return {};
}

Status SegmentTransport::agreeOnStatus(int64_t rank, int32_t value,
                                       double timeoutSeconds, int32_t &agreed) {
  GroupBarrier groupBarrier =
      begin(rank, segment.worldChannel(), timeoutSeconds);
  post(groupBarrier.membership, rank).input = uint32_t(value);
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  agreed = 0;
  for (int64_t r = 0; r < size() && agreed == 0; ++r)
    agreed = int32_t(post(groupBarrier.membership, r).input);
  return {};
}

Status SegmentTransport::barrier(int64_t rank, double timeoutSeconds) {
  GroupBarrier groupBarrier =
      begin(rank, segment.worldChannel(), timeoutSeconds);
  heartbeat(rank);
  groupBarrier.heartbeats = heartbeats(groupBarrier.membership);
  return waitForGroup(groupBarrier);
}

uint32_t SegmentTransport::heartbeats(const Membership &membership) const {
  uint32_t signs = 0;
  for (int64_t member : membership.members)
    signs +=
        segment.rankState(member).heartbeats.load(std::memory_order_relaxed);
  return signs;
}

void SegmentTransport::abort(const Failure &failure) {
  if (!segment.control().fail(failure))
    return;
  for (int64_t channel = 0; channel <= segment.worldChannel(); ++channel)
    for (int64_t rank = 0; rank < size(); ++rank)
      wakeWaiters(segment.arrivalSlot(channel, rank));
}

Status
tp::runtime::createThreadTransport(const EntryView &entry,
                                   std::unique_ptr<Transport> &transport) {
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = made->memorySegment().mapAnonymous(); !status.ok())
    return status;
  transport = std::move(made);
  return {};
}

Status
tp::runtime::createProcessTransport(const EntryView &entry,
                                    std::unique_ptr<Transport> &transport,
                                    int &descriptor, uint64_t artifact) {
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = made->memorySegment().mapNewFile(); !status.ok())
    return status;
  made->memorySegment().control().identity.artifact = artifact;
  descriptor = made->memorySegment().descriptor();
  transport = std::move(made);
  return {};
}

Status
tp::runtime::attachProcessTransport(const EntryView &entry, int descriptor,
                                    std::unique_ptr<Transport> &transport,
                                    uint64_t artifact) {
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = made->memorySegment().mapFile(descriptor); !status.ok())
    return status;
  if (made->memorySegment().control().identity.artifact != artifact)
    return invalidArgument("the shared memory was made for another artifact: "
                           "expected one made for this one");
  transport = std::move(made);
  return {};
}

void tp::runtime::abortProcesses(int descriptor, const Failure &failure) {
  SharedSegment::failIn(descriptor, failure);
}

//===- SegmentTransport.cpp - ranks that share memory ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include "SharedSegment.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sched.h>
#include <thread>

using namespace tp::runtime;

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadlineAfter(double seconds) {
  // Far enough, and no overflow of the clock's integers.
  constexpr double longest = 1e8;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(std::min(seconds, longest)));
}

int64_t usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return std::max(1u, std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

/// A rank's membership in one channel: who is in it, and how often the rank
/// has arrived there.
struct Membership {
  std::vector<int64_t> members;
  int64_t position = 0;
  int64_t channel = 0;
  uint32_t arrivals = 0;
  uint32_t calls = 0;
};

class SegmentTransport final : public Transport {
public:
  explicit SegmentTransport(const EntryView &entry)
      : entry(entry), segment(entry), sides(entry.numRanks()),
        ownCore(entry.numRanks() <= usableCores()) {}

  SharedSegment &memorySegment() { return segment; }

  int64_t size() const override { return segment.ranks(); }
  Status attach(int64_t rank) override;
  char *memory(int64_t rank) override { return segment.memory(rank); }
  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override;
  Status agreeOnStatus(int64_t rank, int32_t value, double timeoutSeconds,
                       int32_t &agreed) override;
  Status barrier(int64_t rank, double timeoutSeconds) override;
  void heartbeat(int64_t rank) override {
    segment.rankState(rank).heartbeats.fetch_add(1, std::memory_order_relaxed);
  }

  void progress(int64_t rank, int64_t command) override {
    segment.rankState(rank).commandPlusOne.store(command + 1,
                                                 std::memory_order_relaxed);
  }
  int64_t progress(int64_t rank) const override {
    return segment.rankState(rank).commandPlusOne.load(
               std::memory_order_relaxed) -
           1;
  }
  void abort(const Failure &failure) override;
  bool aborted() const override {
    return segment.control().abortState.load() != 0;
  }
  std::optional<Failure> failure() const override;
  char *mailbox(int64_t rank) override {
    return segment.rankState(rank).mailbox;
  }

private:
  /// What one rank's thread keeps; sized when it attaches, so that a step
  /// allocates nothing.
  struct RankSide {
    std::vector<Membership> channels;
    std::vector<const char *> inputs;
    std::vector<char *> outputs;
  };
  /// One barrier of a group: arrive, and wait for the others.
  struct GroupBarrier {
    int64_t rank;
    Membership &membership;
    double timeoutSeconds;
    Clock::time_point deadline;
    /// While ranks load: how many there were when the deadline was set.
    std::optional<uint32_t> heartbeats = {};
  };

  GroupBarrier begin(int64_t rank, int64_t channel, double timeoutSeconds) {
    Membership &membership = sides[rank].channels[channel];
    ++membership.calls;
    return {rank, membership, timeoutSeconds, deadlineAfter(timeoutSeconds)};
  }
  Post &post(const Membership &membership, int64_t rank) {
    return segment.arrivalSlot(membership.channel, rank)
        .posts[membership.calls % 2];
  }
  Status waitForGroup(GroupBarrier &groupBarrier);
  Status notJoined(GroupBarrier &groupBarrier);
  uint32_t heartbeats(const Membership &membership) const;
  Status stopped() const;
  Status checkTags(GroupBarrier &groupBarrier, uint64_t tag);
  Status exchangeInline(GroupBarrier &groupBarrier, const CollectiveCall &call,
                        int64_t inputBytes, uint64_t tag);
  Status exchangeLarge(GroupBarrier &groupBarrier, const CollectiveCall &call,
                       uint64_t tag);
  void combine(const Membership &membership, const CollectiveCall &call,
               const char *const *inputs);

  const EntryView &entry;
  SharedSegment segment;
  std::vector<RankSide> sides;
  bool ownCore;
};

uint64_t collectiveTag(const Collective &row,
                       const CollectiveCommand &command) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t part : {row.id, int64_t(row.kind), int64_t(row.dtype),
                       int64_t(row.reduction), command.outer, command.block})
    hash = (hash ^ uint64_t(part)) * 0x100000001b3u;
  return hash;
}

Status SegmentTransport::attach(int64_t rank) {
  RankSide &side = sides[rank];
  // A rank that is made again goes on counting where it was.
  if (!side.channels.empty())
    return {};
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
  return {};
}

Status SegmentTransport::stopped() const {
  std::optional<Failure> cause = failure();
  if (!cause)
    return {Code::RankFailed, "another rank failed"};
  return {Code::RankFailed, cause->message};
}

Status SegmentTransport::notJoined(GroupBarrier &groupBarrier) {
  const Membership &membership = groupBarrier.membership;
  std::string missing;
  int count = 0;
  for (int64_t member : membership.members) {
    ArrivalSlot &arrivalSlot = segment.arrivalSlot(membership.channel, member);
    if (int32_t(arrivalSlot.arrived.load() - membership.arrivals) >= 0)
      continue;
    missing += (count++ ? "; rank " : "rank ") + std::to_string(member) +
               " is at " + entry.describe(progress(member));
  }
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

Status SegmentTransport::waitForGroup(GroupBarrier &groupBarrier) {
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
    switch (waitForArrival(segment.control(),
                           segment.arrivalSlot(membership.channel, member),
                           target, ownCore, groupBarrier.deadline)) {
    case WaitResult::Arrived:
      ++i;
      break;
    case WaitResult::Aborted:
      return stopped();
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
  const Collective &row = entry.collectives[command.collective];
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
  const Collective &row = entry.collectives[command.collective];
  RankSide &side = sides[groupBarrier.rank];
  // Every rank's constants hold the same bytes, so its own stand for them all.
  bool constantInput = command.input.space == Space::Constant;
  post(membership,
       groupBarrier.rank) = {constantInput ? 0 : segment.offsetOf(call.input),
                             segment.offsetOf(call.output), tag};
  if (Status status = waitForGroup(groupBarrier); !status.ok())
    return status;
  if (Status status = checkTags(groupBarrier, tag); !status.ok())
    return status;
  int64_t members = membership.members.size();
  for (int64_t p = 0; p < members; ++p) {
    const Post &other = post(membership, membership.members[p]);
    side.inputs[p] = constantInput ? static_cast<const char *>(call.input)
                                   : segment.at(other.input);
    side.outputs[p] = segment.at(other.output);
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
  int64_t line = std::max<int64_t>(64 / elementBytes, 1);
  int64_t slice = ((count + members - 1) / members + line - 1) / line * line;
  auto first = [&](int64_t p) { return std::min(p * slice, count); };
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
  const Collective &row = entry.collectives[command.collective];
  GroupBarrier groupBarrier = begin(rank, row.group, timeoutSeconds);
  int64_t inputBytes = command.outer * command.block * byteSize(row.dtype);
  if (row.kind == CollectiveKind::ReduceScatter ||
      row.kind == CollectiveKind::AllToAll)
    inputBytes *= groupBarrier.membership.members.size();
  uint64_t tag = collectiveTag(row, command);
  return inputBytes <= SharedSegment::inlineBytes
             ? exchangeInline(groupBarrier, call, inputBytes, tag)
             : exchangeLarge(groupBarrier, call, tag);
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

std::optional<Failure> SegmentTransport::failure() const {
  const Control &control = segment.control();
  if (control.abortState.load() == 0)
    return std::nullopt;
  // The writer may have been killed between its two stores: do not wait for
  // ever. On a busy machine it may stand still there for a while.
  Clock::time_point deadline = deadlineAfter(10);
  while (control.abortState.load() != 2 && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  Failure cause;
  if (control.abortState.load() != 2) {
    cause.message = "a rank died while it reported a failure";
    return cause;
  }
  cause.code = Code(control.failureCode);
  cause.rank = control.failureRank;
  cause.message = control.failureMessage;
  return cause;
}

} // namespace

RankMemory::RankMemory(const EntryView &entry) {
  auto take = [&](int64_t size) {
    int64_t offset = bytes;
    bytes += (size + 63) / 64 * 64;
    return offset;
  };
  bool host = !entry.isCuda();
  for (const Port &port : entry.arguments)
    arguments.push_back(take(host ? port.localBytes() : 0));
  for (const Port &port : entry.results)
    results.push_back(take(port.localBytes()));
  arena = take(host ? entry.memory.arenaBytes : 0);
  scratch = take(host ? entry.memory.scratchBytes : 0);
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
                                    int &descriptor) {
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = made->memorySegment().mapNewFile(); !status.ok())
    return status;
  descriptor = made->memorySegment().descriptor();
  transport = std::move(made);
  return {};
}

Status
tp::runtime::attachProcessTransport(const EntryView &entry, int descriptor,
                                    std::unique_ptr<Transport> &transport) {
  auto made = std::make_unique<SegmentTransport>(entry);
  if (Status status = made->memorySegment().mapFile(descriptor); !status.ok())
    return status;
  transport = std::move(made);
  return {};
}

void tp::runtime::abortProcesses(int descriptor, const Failure &failure) {
  SharedSegment::failIn(descriptor, failure);
}

//===- SegmentTransport.h - ranks that share memory -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_SEGMENTTRANSPORT_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_SEGMENTTRANSPORT_H

#include "SharedSegment.h"

namespace tp::runtime {

/// A rank's membership in one channel: who is in it, and how often the rank
/// has arrived there.
struct Membership {
  std::vector<int64_t> members;
  int64_t position = 0;
  int64_t channel = 0;
  uint32_t arrivals = 0;
  uint32_t calls = 0;
};

/// Threads of one process, or processes of one host, that read each other's
/// memory: in place where it is mapped (SharedSegment), else from its file.
class SegmentTransport final : public Transport {
public:
  explicit SegmentTransport(const EntryView &entry);

  SharedSegment &memorySegment() { return segment; }
  /// From here on waits of `rank`, the only one of this process, end with an
  /// error when the process of another rank ends. Each process claims its rank
  /// in the segment.
  void watchPeersOf(int64_t rank) {
    peers = std::make_unique<PeerWatch>(segment, rank);
  }

  int64_t size() const override { return segment.ranks(); }
  Status attach(int64_t rank) override;
  char *memory(int64_t rank) override { return segment.memory(rank); }
  Status copyMemory(int64_t rank, int64_t offset, int64_t bytes,
                    char *to) override;
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
  std::optional<Failure> failure() const override {
    return segment.control().failure();
  }
  char *mailbox(int64_t rank) override {
    return segment.rankState(rank).mailbox;
  }

private:
  /// Small enough that a piece of each of a few members stays in the cache.
  static constexpr int64_t pieceBytes = 65536;
  /// What one rank's thread keeps; sized when it attaches, so that a step
  /// allocates nothing.
  struct RankSide {
    std::vector<Membership> channels;
    std::vector<const char *> inputs;
    std::vector<char *> outputs;
    /// Where memory of other ranks is not mapped: the pieces of all members'
    /// inputs, `pieceBytes` each.
    std::vector<char> pieces;
  };
  /// One barrier of a group: arrive, and wait for the others.
  struct GroupBarrier {
    int64_t rank;
    Membership &membership;
    double timeoutSeconds;
    std::chrono::steady_clock::time_point deadline;
    /// While ranks load: how many there were when the deadline was set.
    std::optional<uint32_t> heartbeats = {};
  };

  GroupBarrier begin(int64_t rank, int64_t channel, double timeoutSeconds);
  /// What the rank has posted of the call that is under way.
  Post &post(const Membership &membership, int64_t rank) {
    return segment.arrivalSlot(membership.channel, rank)
        .posts[membership.calls % 2];
  }
  Status waitForGroup(GroupBarrier &groupBarrier);
  Status notJoined(GroupBarrier &groupBarrier);
  Status peerEnded();
  uint32_t heartbeats(const Membership &membership) const;
  Status checkTags(GroupBarrier &groupBarrier, uint64_t tag);
  Status exchangeInline(GroupBarrier &groupBarrier, const CollectiveCall &call,
                        int64_t inputBytes, uint64_t tag);
  Status exchangeLarge(GroupBarrier &groupBarrier, const CollectiveCall &call,
                       uint64_t tag);
  void combine(const Membership &membership, const CollectiveCall &call,
               const char *const *inputs);
  /// The first element that the member at `position` reduces in an all_reduce
  /// of `count`.
  static int64_t firstReduced(int64_t position, int64_t members, int64_t count,
                              int64_t elementBytes);

  /// What follows in exchangeLarge where memory of other ranks is not mapped.
  Status exchangeFromFile(GroupBarrier &groupBarrier,
                          const CollectiveCall &call);
  Status allReduceFromFile(GroupBarrier &groupBarrier,
                           const CollectiveCall &call);
  Status moveBlocksFromFile(const Membership &membership,
                            const CollectiveCall &call, RankSide &side);
  Status reduceFromFile(const Membership &membership,
                        const CollectiveCall &call, RankSide &side,
                        int64_t byteOffset, int64_t count, char *output);
  Status readInput(const Membership &membership, const CollectiveCall &call,
                   int64_t position, int64_t byteOffset, int64_t bytes,
                   char *to);

  const EntryView &entry;
  SharedSegment segment;
  /// For ranks that find each other in a folder. Others have a parent.
  std::unique_ptr<PeerWatch> peers;
  std::vector<RankSide> sides;
  bool ownCore;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_SEGMENTTRANSPORT_H

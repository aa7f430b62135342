//===- SharedSegment.h - memory that all ranks of a host map ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One segment holds the control words and the memory of every rank. Threads
// share an anonymous mapping, processes a file in memory; addresses cross as
// offsets, so that the same code serves both. Under a limit of its address
// space (ulimit -v) a process maps the control words and the memory of its own
// ranks: a program whose ranks together are larger than the limit runs. It
// reads its peers' memory from the file, in pieces.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H

#include "ProcessIdentity.h"
#include "tp/Runtime/Transport.h"
#include <atomic>
#include <chrono>

namespace tp::runtime {

/// The addresses that a rank posts when it arrives at a collective.
struct Post {
  /// Offsets in the segment; inputs in the constants are not in it.
  uint64_t input;
  uint64_t output;
  /// Identifies the collective, so that a divergence is an error.
  uint64_t tag;
};

/// One rank's place in one channel. Two posts, used in turn: a rank that posts
/// collective k + 2 has completed k + 1, which all members entered after they
/// had finished reading k.
struct alignas(64) ArrivalSlot {
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> waiters;
  Post posts[2];
};

struct alignas(64) RankState {
  /// The process that is this rank (ProcessIdentity::packed), where ranks find
  /// each other in a folder: claimed once, never given back.
  std::atomic<uint64_t> holder;
  /// One more than the command, so that zeroed memory says "not yet".
  std::atomic<int64_t> commandPlusOne;
  /// Counts the heartbeats of a rank that loads.
  std::atomic<uint32_t> heartbeats;
  char mailbox[Transport::mailboxBytes];
};

/// What tells a run's segment from those of others, where ranks find each other
/// in a folder.
struct RunIdentity {
  /// Random, of the segment.
  uint64_t segment;
  int64_t ranks;
  /// Checksums of the run's name, the artifact, and what the ranks are given.
  uint64_t run, artifact, data;
};

struct alignas(64) Control {
  uint64_t bytes;
  RunIdentity identity;
  /// 0: running; 1: the failure is being written; 2: it can be read.
  std::atomic<uint32_t> abortState;
  int32_t failureCode;
  int64_t failureRank;
  char failureMessage[4096];

  /// Writes the failure unless there is one already; false then.
  bool fail(const Failure &failure);
  std::optional<Failure> failure() const;
};

/// The start of a memory file: what a rank needs to join a run, whatever the
/// program.
class SegmentHead {
public:
  explicit SegmentHead(int64_t ranks) : numRanks(ranks) {}
  ~SegmentHead();
  SegmentHead(const SegmentHead &) = delete;

  static constexpr int64_t statesOffset = sizeof(Control);
  int64_t bytes() const {
    return statesOffset + numRanks * int64_t(sizeof(RankState));
  }
  /// False if the file is shorter, or cannot be mapped.
  bool map(int descriptor);

  int64_t ranks() const { return numRanks; }
  Control &control() const { return *reinterpret_cast<Control *>(base); }
  RankState &rankState(int64_t rank) const {
    return reinterpret_cast<RankState *>(base + statesOffset)[rank];
  }

private:
  int64_t numRanks;
  char *base = nullptr;
};

/// The segment. Channels are the manifest's groups, then one of all ranks.
class SharedSegment {
public:
  /// Payloads up to this size are copied into the segment: one barrier instead
  /// of three.
  static constexpr int64_t inlineBytes = 8192;

  explicit SharedSegment(const EntryView &entry);
  ~SharedSegment();
  SharedSegment(const SharedSegment &) = delete;

  /// Maps all of it.
  Status mapAnonymous();
  /// Makes the memory file; owns its descriptor. Of the memory of ranks it maps
  /// none where the address space has a limit, else all; mapFile too.
  Status mapNewFile();
  /// A memory file of so many bytes, which children inherit.
  static Status makeFile(int64_t bytes, int &descriptor);
  Status mapFile(int descriptor);
  /// Maps the memory of a rank of this process, unless it is mapped.
  Status mapMemory(int64_t rank);
  int descriptor() const { return file; }
  /// Writes the failure into the memory file of any program; those that sleep
  /// see it within a twentieth of a second.
  static void failIn(int descriptor, const Failure &failure);

  int64_t ranks() const { return numRanks; }
  int64_t worldChannel() const { return numChannels - 1; }

  Control &control() const { return *reinterpret_cast<Control *>(base); }
  RankState &rankState(int64_t rank) const;
  ArrivalSlot &arrivalSlot(int64_t channel, int64_t rank) const;
  char *inlinePayload(int64_t channel, int64_t rank, int64_t turn) const;
  /// Null where it is not mapped.
  char *memory(int64_t rank) const { return memories[rank]; }
  bool mapsAllMemory() const { return mappedBytes == totalBytes; }

  /// Of an address in the memory of `rank`, which is mapped.
  uint64_t offsetOf(int64_t rank, const void *address) const {
    return offsetOfMemory(rank) +
           (static_cast<const char *>(address) - memories[rank]);
  }
  /// The address of an offset in the memory of `rank`, which is mapped.
  char *at(int64_t rank, uint64_t offset) const {
    return memories[rank] + (offset - offsetOfMemory(rank));
  }
  /// Copies bytes from the file.
  Status read(uint64_t offset, int64_t bytes, char *to) const;
  uint64_t offsetOfMemory(int64_t rank) const {
    return memoryOffset + rank * memoryBytes;
  }

private:
  /// Maps the first `bytes` of the file.
  Status mapStart(int descriptor, int64_t bytes);

  int64_t numRanks, numChannels;
  int64_t stationsOffset, payloadOffset, memoryOffset;
  int64_t memoryBytes, totalBytes;
  char *base = nullptr;
  /// From `base` on.
  int64_t mappedBytes = 0;
  /// By rank; null where its memory is not mapped.
  std::vector<char *> memories;
  /// Owned; of a segment that another process has made only where it is read.
  int file = -1;
};

enum class WaitResult { Arrived, Aborted, TimedOut, PeerEnded };

/// Watches the processes that have claimed a rank.
class PeerWatch {
public:
  PeerWatch(const SharedSegment &segment, int64_t own);
  /// A rank whose process has ended.
  std::optional<int64_t> ended();

private:
  const SharedSegment &segment;
  int64_t own;
  /// By rank; nothing for this one, and as long as nobody has claimed it.
  std::vector<std::optional<ProcessWatch>> watches;
};

/// Waits until `arrivalSlot.arrived` reaches `target`. Spins first, longer when
/// every rank can have a core of its own, then sleeps in the kernel. Time in
/// which this process itself was stopped does not count: `deadline` moves.
/// `peers` may be null.
WaitResult waitForArrival(const Control &control, ArrivalSlot &arrivalSlot,
                          uint32_t target, bool ownCore, PeerWatch *peers,
                          std::chrono::steady_clock::time_point &deadline);
/// Sets `arrivalSlot.arrived` and wakes the threads that sleep on it.
void announceArrival(ArrivalSlot &arrivalSlot, uint32_t value);
/// Wakes the threads that sleep on the slot, without an arrival.
void wakeWaiters(ArrivalSlot &arrivalSlot);

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H

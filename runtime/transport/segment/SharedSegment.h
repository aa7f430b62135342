//===- SharedSegment.h - memory that all ranks of a host map ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One mapping holds the control words and the memory of every rank. Threads
// share an anonymous one, processes one behind a file descriptor; addresses
// cross as offsets, so that the same code serves both.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H

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
  /// One more than the command, so that zeroed memory says "not yet".
  std::atomic<int64_t> commandPlusOne;
  /// Counts the heartbeats of a rank that loads.
  std::atomic<uint32_t> heartbeats;
  char mailbox[Transport::mailboxBytes];
};

struct alignas(64) Control {
  uint64_t bytes;
  /// 0: running; 1: the failure is being written; 2: it can be read.
  std::atomic<uint32_t> abortState;
  int32_t failureCode;
  int64_t failureRank;
  char failureMessage[4096];

  /// Writes the failure unless there is one already; false then.
  bool fail(const Failure &failure);
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

  Status mapAnonymous();
  /// Makes the memory file; owns its descriptor.
  Status mapNewFile();
  Status mapFile(int descriptor);
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
  char *memory(int64_t rank) const;

  uint64_t offsetOf(const void *address) const {
    return static_cast<const char *>(address) - base;
  }
  char *at(uint64_t offset) const { return base + offset; }

private:
  int64_t numRanks, numChannels;
  int64_t statesOffset, stationsOffset, payloadOffset, memoryOffset;
  int64_t memoryBytes, totalBytes;
  char *base = nullptr;
  int file = -1;
};

enum class WaitResult { Arrived, Aborted, TimedOut };

/// Waits until `arrivalSlot.arrived` reaches `target`. Spins first, longer when
/// every rank can have a core of its own, then sleeps in the kernel. Time in
/// which this process itself was stopped does not count: `deadline` moves.
WaitResult waitForArrival(const Control &control, ArrivalSlot &arrivalSlot,
                          uint32_t target, bool ownCore,
                          std::chrono::steady_clock::time_point &deadline);
/// Sets `arrivalSlot.arrived` and wakes the threads that sleep on it.
void announceArrival(ArrivalSlot &arrivalSlot, uint32_t value);
/// Wakes the threads that sleep on the slot, without an arrival.
void wakeWaiters(ArrivalSlot &arrivalSlot);

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_SHAREDSEGMENT_H

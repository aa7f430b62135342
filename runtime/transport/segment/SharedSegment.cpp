//===- SharedSegment.cpp - memory that all ranks of a host map ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedSegment.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace tp::runtime;

namespace {

void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Not the PRIVATE operations: the word may be shared between processes.
void futexWait(std::atomic<uint32_t> &word, uint32_t seen,
               std::chrono::nanoseconds timeout) {
  timespec limit = {time_t(timeout.count() / 1000000000),
                    long(timeout.count() % 1000000000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool reached(uint32_t value, uint32_t target) {
  return int32_t(value - target) >= 0;
}

} // namespace

SegmentHead::~SegmentHead() {
  if (base)
    munmap(base, bytes());
}

bool SegmentHead::map(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0 || info.st_size < bytes())
    return false;
  void *memory =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return false;
  base = static_cast<char *>(memory);
  return true;
}

void SharedSegment::failIn(int descriptor, const Failure &failure) {
  // Control stands at the start, whatever the manifest says.
  struct stat info;
  if (fstat(descriptor, &info) != 0 || info.st_size < int64_t(sizeof(Control)))
    return;
  void *memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE,
                      MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return;
  static_cast<Control *>(memory)->fail(failure);
  munmap(memory, sizeof(Control));
}

bool Control::fail(const Failure &failure) {
  uint32_t running = 0;
  if (!abortState.compare_exchange_strong(running, 1))
    return false;
  failureCode = int(failure.code);
  failureRank = failure.rank;
  size_t length = std::min(failure.message.size(), sizeof(failureMessage) - 1);
  std::memcpy(failureMessage, failure.message.data(), length);
  failureMessage[length] = '\0';
  abortState.store(2);
  return true;
}

std::optional<Failure> Control::failure() const {
  using namespace std::chrono;
  if (abortState.load() == 0)
    return std::nullopt;
  // The writer may have been killed between its two stores: do not wait for
  // ever. On a busy machine it may stand still there for a while.
  auto deadline = steady_clock::now() + seconds(10);
  while (abortState.load() != 2 && steady_clock::now() < deadline)
    std::this_thread::sleep_for(microseconds(100));
  Failure cause;
  if (abortState.load() != 2) {
    cause.message = "a rank died while it reported a failure";
    return cause;
  }
  cause.code = Code(failureCode);
  cause.rank = failureRank;
  cause.message = failureMessage;
  return cause;
}

RankState &SharedSegment::rankState(int64_t rank) const {
  return reinterpret_cast<RankState *>(base + SegmentHead::statesOffset)[rank];
}

ArrivalSlot &SharedSegment::arrivalSlot(int64_t channel, int64_t rank) const {
  return reinterpret_cast<ArrivalSlot *>(
      base + stationsOffset)[channel * numRanks + rank];
}

char *SharedSegment::inlinePayload(int64_t channel, int64_t rank,
                                   int64_t turn) const {
  return base + payloadOffset +
         ((channel * numRanks + rank) * 2 + turn) * inlineBytes;
}

PeerWatch::PeerWatch(const SharedSegment &segment, int64_t own)
    : segment(segment), own(own), watches(segment.ranks()) {}

std::optional<int64_t> PeerWatch::ended() {
  for (int64_t rank = 0; rank < segment.ranks(); ++rank) {
    std::optional<ProcessWatch> &watch = watches[rank];
    uint64_t holder = segment.rankState(rank).holder.load();
    if (rank == own || holder == 0)
      continue;
    if (!watch)
      watch.emplace(ProcessIdentity::unpack(holder));
    if (watch->ended())
      return rank;
  }
  return std::nullopt;
}

WaitResult
tp::runtime::waitForArrival(const Control &control, ArrivalSlot &arrivalSlot,
                            uint32_t target, bool ownCore, PeerWatch *peers,
                            std::chrono::steady_clock::time_point &deadline) {
  auto arrived = [&] {
    return reached(arrivalSlot.arrived.load(std::memory_order_acquire), target);
  };
  using namespace std::chrono;
  auto seenAt = steady_clock::now();
  // A core of one's own costs nothing to wait on, and where other programs want
  // it too it comes back a few milliseconds after it is offered to them: it is
  // kept for as long as ranks usually wait for each other. The rank waited for
  // may be one that needs it, so from then on it is offered every microsecond.
  constexpr int spins = 40;
  const int keptRounds = ownCore ? 100 : 0;
  const int rounds = ownCore ? 200 : 8;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < spins; ++i) {
      if (arrived())
        return WaitResult::Arrived;
      pauseBriefly();
    }
    if (round >= keptRounds)
      sched_yield();
  }
  // Short enough to see an abort whose wake-up came just before the sleep.
  constexpr nanoseconds longestSleep = milliseconds(50);
  // Between two looks at the clock this much passes only if the process was
  // stopped, asleep or not.
  constexpr nanoseconds stoppedFor = seconds(1);
  for (;;) {
    arrivalSlot.waiters.fetch_add(1);
    uint32_t seen = arrivalSlot.arrived.load();
    auto now = steady_clock::now();
    if (now - seenAt > stoppedFor)
      deadline += now - seenAt;
    seenAt = now;
    auto left = duration_cast<nanoseconds>(deadline - now);
    bool aborted = control.abortState.load() != 0;
    if (!reached(seen, target) && !aborted && left > nanoseconds(0))
      futexWait(arrivalSlot.arrived, seen, std::min(left, longestSleep));
    arrivalSlot.waiters.fetch_sub(1);
    if (arrived())
      return WaitResult::Arrived;
    if (aborted)
      return WaitResult::Aborted;
    // What a process did before it ended is seen after that: an arrival, or a
    // failure that it reported.
    if (peers && peers->ended()) {
      if (arrived())
        return WaitResult::Arrived;
      return control.abortState.load() != 0 ? WaitResult::Aborted
                                            : WaitResult::PeerEnded;
    }
    if (left <= nanoseconds(0))
      return WaitResult::TimedOut;
  }
}

void tp::runtime::announceArrival(ArrivalSlot &arrivalSlot, uint32_t value) {
  // Sequentially consistent with the waiter's count: one of the two sees the
  // other.
  arrivalSlot.arrived.store(value);
  if (arrivalSlot.waiters.load() != 0)
    futexWakeAll(arrivalSlot.arrived);
}

void tp::runtime::wakeWaiters(ArrivalSlot &arrivalSlot) {
  futexWakeAll(arrivalSlot.arrived);
}

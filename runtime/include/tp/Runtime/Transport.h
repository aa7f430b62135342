//===- Transport.h - connects the ranks of a run ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_H
#define TP_RUNTIME_TRANSPORT_H

#include "tp/Runtime/Manifest.h"
#include "tp/Runtime/Status.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace tp::runtime {

/// A rank's call of a collective. `output` is in the rank's own memory
/// (Transport::memory), `input` too or in the constants.
struct CollectiveCall {
  const CollectiveCommand *command = nullptr;
  /// Of its entry.
  const Collective *row = nullptr;
  const void *input = nullptr;
  void *output = nullptr;
};

/// Why a run ended early: the first failure that any rank reported.
struct Failure {
  Code code = Code::RankFailed;
  int64_t rank = -1;
  std::string message;
};

/// Joins the ranks of one run. Calls that name a rank are made by that rank
/// alone, one at a time; the rest may be made by anyone at any time. Ranks may
/// be threads, processes of one host, or (other implementations) more.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int64_t size() const = 0;

  /// Must come before any other call for `rank`.
  virtual Status attach(int64_t rank) = 0;
  /// The rank's arguments, results, arena and scratch (RankMemory): zero at
  /// first, page-aligned, readable by peers. Null where the rank has not
  /// attached in this process, which maps no other's.
  virtual char *memory(int64_t rank) = 0;
  /// Copies a part of that, also of a rank of another process of this host.
  virtual Status copyMemory(int64_t rank, int64_t offset, int64_t bytes,
                            char *to) {
    std::memcpy(to, memory(rank) + offset, bytes);
    return {};
  }

  /// All members of the group call this in the same order. Fails when a member
  /// does not come within `timeoutSeconds` or the run is aborted.
  virtual Status collective(int64_t rank, const CollectiveCall &call,
                            double timeoutSeconds) = 0;
  /// Several that touch nothing of each other, as one where the transport can;
  /// all members of all groups call them in the same order.
  virtual Status collectives(int64_t rank,
                             const std::vector<CollectiveCall> &calls,
                             double timeoutSeconds) {
    for (const CollectiveCall &call : calls)
      if (Status status = collective(rank, call, timeoutSeconds); !status.ok())
        return status;
    return {};
  }
  /// Memory on a rank's device for the buffers of collectives. It lives as long
  /// as the transport. All ranks call this once; `layout` is a checksum of the
  /// offsets in it. Address 0: the rank may use any memory.
  virtual Status deviceMemory(int64_t, int64_t /*bytes*/, uint64_t /*layout*/,
                              uint64_t &address) {
    address = 0;
    return {};
  }
  /// How the library of collectives uses that memory, for messages.
  virtual std::string describeMemory() const { return ""; }
  /// Gives all ranks the same status: the value of the lowest rank whose value
  /// is not 0, else 0. Not counted as a collective of the program.
  virtual Status agreeOnStatus(int64_t rank, int32_t value,
                               double timeoutSeconds, int32_t &agreed) = 0;
  /// Waits until every rank has called it. Ranks may take very different times
  /// to load: the wait fails when no rank has called `heartbeat` or `barrier`
  /// for `timeoutSeconds`.
  virtual Status barrier(int64_t rank, double timeoutSeconds) = 0;
  virtual void heartbeat(int64_t rank) = 0;
  /// After its last step: waits as `barrier` does. That the rank goes away then
  /// is no failure.
  virtual Status leave(int64_t rank, double timeoutSeconds) {
    return barrier(rank, timeoutSeconds);
  }

  /// The command that the rank is at (EntryView::progressAt), or -1 before the
  /// first one: for messages if it hangs or dies.
  virtual void progress(int64_t rank, int64_t command) = 0;
  virtual int64_t progress(int64_t rank) const = 0;

  /// Ends every wait of every rank. The first failure stays.
  virtual void abort(const Failure &failure) = 0;
  virtual bool aborted() const = 0;
  virtual std::optional<Failure> failure() const = 0;
  /// An error once the run has been aborted. Every step and every wait begins
  /// with it: ranks that join soon enough never look while they wait.
  Status checkRunning() const { return aborted() ? stopped() : Status(); }
  /// The first failure as an error.
  Status stopped() const {
    std::optional<Failure> cause = failure();
    return {Code::RankFailed, cause ? cause->message : "another rank failed"};
  }

  /// The size of a rank's mailbox: a few bytes that the rank's process leaves
  /// for its parent.
  static constexpr size_t mailboxBytes = 384;
  virtual char *mailbox(int64_t rank) = 0;
};

/// Ranks are threads of this process.
Status createThreadTransport(const EntryView &entry,
                             std::unique_ptr<Transport> &transport);
/// Ranks are processes that share the memory behind `descriptor`, which the
/// transport owns; children inherit it and attach. `artifact`, the identity of
/// the entry's artifact, must be the same; 0 where the caller compares it.
Status createProcessTransport(const EntryView &entry,
                              std::unique_ptr<Transport> &transport,
                              int &descriptor, uint64_t artifact = 0);
Status attachProcessTransport(const EntryView &entry, int descriptor,
                              std::unique_ptr<Transport> &transport,
                              uint64_t artifact = 0);

/// Ends all ranks' waits as Transport::abort does, from a process that could
/// not attach. The first failure stays.
void abortProcesses(int descriptor, const Failure &failure);

/// The offsets of an entry's arguments, results, arena and scratch in a rank's
/// memory; the same on all ranks. All entries are in one memory: arguments that
/// they share are there once, inputs and results are each entry's own, and the
/// arena and the scratch are those of the entry that needs most. For a program
/// for devices the host keeps copies of the results only; everything else has
/// no bytes here.
struct RankMemory {
  explicit RankMemory(const EntryView &entry);

  std::vector<int64_t> arguments;
  std::vector<int64_t> results;
  /// Of the entry that `entry` is or is a part of.
  std::vector<int64_t> carried;
  int64_t arena = 0;
  int64_t scratch = 0;
  int64_t bytes = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_H

//===- Rank.h - one rank's memory and steps ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a host program asks of a rank, whatever it runs on. CreateRank.h makes
// one for the target of an artifact.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_RANK_H
#define TP_RUNTIME_RANK_H

#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/CommandTimes.h"
#include "tp/Runtime/FaultTransport.h"
#include "tp/Runtime/Transport.h"
#include <functional>
#include <set>

namespace tp::runtime {

/// A queue of device work that the host program made: a cudaStream_t.
struct ExternalStream {
  void *handle = nullptr;
};

/// What only ranks on devices have. A rank on the CPU refuses all of it.
struct DeviceOptions {
  /// The device of this number. Without it, `place` modulo the number of
  /// devices.
  std::optional<int64_t> index = {};
  /// The rank's number on its host; without it, its number.
  std::optional<int64_t> place = {};
  /// What copies and steps are ordered with.
  std::optional<ExternalStream> stream = {};
  /// An ncclComm_t of all ranks, in their order. The rank splits communicators
  /// of its own from it; it neither uses nor destroys it after that.
  void *communicator = nullptr;

  bool any() const { return index || stream || communicator; }
};

struct RankOptions {
  /// Of one collective.
  double timeoutSeconds = 300;
  /// How long to wait for the other ranks to connect.
  double startTimeoutSeconds = 300;
  /// Fill padding, results and arena with NaN or the least integer before
  /// every step.
  bool poison = false;
  /// Leave collectives out: one rank's speed alone, results mean nothing.
  bool skipCollectives = false;
  /// Keep the times of every command of the last step.
  bool trace = false;
  /// A failure to act out, one that checkFault accepts, for tests;
  /// `endsProcess`: the rank has its process for itself and may end it.
  std::optional<Fault> fault = {};
  bool endsProcess = false;
  DeviceOptions device = {};

  /// Whether a rank of this number, of a program for so many, may be made.
  Status check(int64_t rank, int64_t ranks, const Transport &transport) const;
};

enum class MemorySpace { Host, Device };
enum class PortSide { Argument, Result };

/// A local tensor of the host program: of a port's local shape, padding
/// included.
struct LocalTensor {
  void *data = nullptr;
  /// In elements, by the port's dimensions.
  std::vector<int64_t> strides;
  MemorySpace space = MemorySpace::Host;
  /// The device that the memory is on.
  int64_t device = 0;
};

/// What a rank knows of how it runs, for reports.
struct RankFacts {
  /// Attentions of a step that a library runs, and the others, whose steps run;
  /// of the first of these the command, and why.
  int64_t fusedAttentions = 0, attentionsInSteps = 0;
  std::string whyInSteps;
  /// How the library of collectives uses the rank's memory; may be empty.
  std::string collectiveMemory;
};

class Rank;

/// What the entries of one rank share besides its memory.
struct RankState {
  /// The one whose step is under way.
  const Rank *submitted = nullptr;
  /// Whether the step under way may have written arguments, on any rank.
  bool mayHaveWritten = true;
  /// Arguments that a failed step may have written in part.
  std::set<TensorNumber> lost;
};

/// Runs an entry as one rank. Used by one thread at a time; artifact and
/// transport outlive it.
///
/// A step that fails ends the run for all ranks, except by a check of the
/// program: that all ranks know of, and they can run another step.
///
/// After a step the arguments that results update have their next values. A
/// step that fails leaves them as they were, or, those that are updated in
/// place, lost: where it may have begun to write them.
class Rank {
public:
  virtual ~Rank() = default;
  Rank(const Rank &) = delete;

  int64_t rank() const { return number; }
  /// This rank with another entry of its artifact, on the same memory: what one
  /// sets or updates of the arguments that both have, the other reads. One step
  /// is under way at a time, of any of them. Local; on the CPU alone.
  virtual Status withEntry(const EntryView &other,
                           std::unique_ptr<Rank> &created) const;
  const EntryView &program() const { return entry; }

  /// Where the rank's buffers are: addresses in this space, on this device.
  virtual MemorySpace space() const = 0;
  virtual int64_t device() const { return 0; }
  /// The rank's own buffers: local shape in storage order, no gaps. A result's
  /// has what this entry computed last. Of one that updates an argument the
  /// value that counts is the argument's (EntryView::stateOf): another entry,
  /// or the host, may have set it since, and a step that fails does not.
  virtual char *argument(int64_t index) const = 0;
  virtual char *result(int64_t index) const = 0;

  /// Fills an argument part by part: `fill` writes a slice of it, a port of its
  /// own, into a buffer on the host. Padding that it leaves is as it was on the
  /// CPU, and zero on a device.
  using Fill = std::function<void(const RankSlice &slice, char *buffer)>;
  virtual Status load(int64_t argument, const Fill &fill) = 0;
  /// Copies a whole local tensor in or out. The copy has ended when the call
  /// comes back.
  virtual Status write(int64_t argument, const LocalTensor &from) = 0;
  virtual Status read(PortSide side, int64_t index, const LocalTensor &to) = 0;

  /// Starts one step: the program, then a status agreed over all ranks. What
  /// the stream was given before comes first, and what it is given later comes
  /// after the program. On the CPU, which has no streams, the step runs here.
  Status submit(std::optional<ExternalStream> stream = std::nullopt);
  /// Ends the step.
  Status wait();
  Status step();
  /// An error if the argument is one that a failed step updates in place, and
  /// that was not written since: it may be half new. Then no step starts.
  Status checkNotLost(int64_t argument) const;
  /// The argument has been written as a whole, or its caller does that.
  void restored(int64_t argument) {
    state->lost.erase(entry.tensorOf(argument));
  }

  /// Waits for all ranks, as Transport::barrier does.
  Status barrier(double timeoutSeconds);
  /// After the last step: waits for all ranks, then this one may go.
  Status leave(double timeoutSeconds);
  /// The rank is still loading.
  void heartbeat() { transport.heartbeat(number); }
  /// Ends the run for all ranks. The first failure stays.
  virtual void abort(const Status &why);

  /// Copies the results to where the transport keeps them for the host.
  virtual Status fetchResults() = 0;
  /// By command, of the last step, with RankOptions::trace.
  const std::vector<CommandTime> &times() const { return commandTimes; }
  virtual RankFacts facts() const { return {}; }

  /// Fills the float results of skipped collectives with numbers that are small
  /// in every float type. They depend on `seed` alone. The CPU, whose speed
  /// does not depend on numbers, leaves them.
  virtual Status fillSkippedResults(uint64_t /*seed*/) { return {}; }
  /// Times every command by itself, after a first step. For a rank alone:
  /// collectives are left out, and every step is the program's, so that
  /// commands find the data of a step. Ranks on devices can.
  virtual Status measureCommands(int64_t rounds, StepTimes &times);

protected:
  Rank(const Artifact &artifact, const EntryView &entry, Transport &transport,
       int64_t rank, const RankOptions &options,
       std::shared_ptr<RankState> state);

  virtual Status start(std::optional<ExternalStream> stream) = 0;
  virtual Status finish() = 0;
  /// What every step ends with: the ranks agree on the check that failed, by
  /// its id, 0 for none. `command`: where in the program.
  Status agree(int32_t failedCheck, int64_t command);

  const Artifact &artifact;
  const EntryView &entry;
  Transport &transport;
  int64_t number;
  RankOptions options;
  std::shared_ptr<RankState> state;
  std::vector<CommandTime> commandTimes;

private:
  /// At the end of a step that succeeded: copies the results that update an
  /// argument and do not have its memory there.
  Status copyUpdates();
  /// At the end of a step that failed.
  void loseUpdates();
};

/// The value of TP_POISON (0 or 1); by default true in debug builds.
bool poisonByDefault();

/// Fills `count` elements with NaN or the least integer (i1: 1); with a mask,
/// those whose byte is not 0.
void fillWithPoison(DataType type, void *data, int64_t count,
                    const uint8_t *mask = nullptr);

} // namespace tp::runtime

#endif // TP_RUNTIME_RANK_H

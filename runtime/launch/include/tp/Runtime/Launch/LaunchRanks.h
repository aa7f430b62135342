//===- LaunchRanks.h - ranks as threads or processes ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts the ranks of a run, or one of them where a launcher started this
// process, and watches them to their end. A program states what a rank does by
// RankWork. It gets back the transport, which holds results and reports.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_LAUNCHRANKS_H
#define TP_RUNTIME_LAUNCH_LAUNCHRANKS_H

#include "tp/Runtime/Rank.h"
#include "tp/Runtime/Store.h"

namespace tp::runtime {

struct LaunchOptions {
  /// What every rank is made with. `trace` returns the times of commands.
  RankOptions rank;
  int64_t steps = 1;
  /// Runs this rank and no other.
  std::optional<int64_t> onlyRank = {};
};

/// What a program does with the ranks of a process. Several threads call it at
/// the same time, each with a rank of its own. A failure ends the run.
class RankWork {
public:
  virtual ~RankWork() = default;
  /// Before the first step: loads the arguments.
  virtual Status load(Rank &rank) const = 0;
  /// Before every other one, outside of the measured time.
  virtual Status feed(Rank &rank, int64_t step) const = 0;
  /// After the last one, when the results are fetched.
  virtual Status finish(Rank &rank) const = 0;
};

/// A rank's measurements. It leaves them in its mailbox in the transport, where
/// a parent process can read them.
struct RankReport {
  /// All steps have ended. False in an empty mailbox.
  bool finished = false;
  double shortest = 0, median = 0; // seconds per step
  double cpu = 0;                  // seconds of CPU time per step
  int64_t residentBytes = 0;       // peak of the rank's process
  // Attentions of a step that a library runs, and the others, whose steps run:
  // why, of the first, cut off where it is long.
  int64_t fusedAttentions = 0, attentionsInSteps = 0;
  char whyInSteps[180] = {};
  /// What the library of collectives knows of a device's memory.
  char deviceMemory[80] = {};
};

RankReport reportOf(Transport &transport, int64_t rank);

/// A run that has ended: its transport holds the results.
struct FinishedRun {
  /// What the transport works on, for ranks of several hosts.
  std::unique_ptr<Store> store;
  std::unique_ptr<Transport> transport;
  /// By rank, then command; empty without a trace. Of ranks of several hosts,
  /// which have clocks of their own, this process has its own one's alone.
  std::vector<std::vector<CommandTime>> times;
};

/// Ranks as threads. One that hangs in a kernel cannot be ended: the process is
/// (see HostProgram.h).
Status runThreads(const LaunchOptions &options, const Artifact &artifact,
                  const RankWork &work, FinishedRun &run);

/// Ranks as processes: starts this program again for every rank, with the words
/// of `argv`, a null pointer behind the last, and those of a ProcessRank.
Status runProcesses(const LaunchOptions &options, const Artifact &artifact,
                    char **argv, FinishedRun &run);

/// Who a process is that runProcesses started. It gives the process the words
/// `--process-rank=N`, `--segment-file=N`, `--artifact-identity=N` and, with a
/// trace, `--times-file=N`.
struct ProcessRank {
  int64_t rank = 0;
  /// Descriptors.
  int segmentFile = -1, timesFile = -1;
  std::optional<uint64_t> artifactIdentity = {};

  /// Whether it is a rank of the artifact that the parent has opened, and has
  /// the address space to be one.
  Status check(const Artifact &artifact) const;
};
/// The part of such a process. Its failure is in the transport, unless it has
/// not found that: see abortProcesses.
Status runAsProcess(const LaunchOptions &options, const Artifact &artifact,
                    const ProcessRank &self, const RankWork &work);

/// Where ranks that a launcher starts find each other: in a folder, which is
/// for ranks of one host, or at an address of rank 0. With neither it is the
/// address that the launcher has put into the environment. Messages call it
/// --store.
struct StoreLocation {
  std::string folder;
  std::optional<StoreAddress> address = {};
  /// A checksum of what the program gives this rank: in a folder the run fails
  /// if rank 0 has another one.
  uint64_t data = 0;

  bool stated() const { return !folder.empty() || address; }
};

/// Whether this process is one rank of several that a launcher started.
/// Without a location these are ranks on devices alone.
bool isLaunched(const LaunchOptions &options, const StoreLocation &store,
                const EntryView &entry);
/// That rank. Rank 0 gets the `results`, by their number, of all ranks.
Status runLaunched(const LaunchOptions &options, const StoreLocation &store,
                   const Artifact &artifact, const RankWork &work,
                   const std::vector<int64_t> &results, FinishedRun &run,
                   int64_t &rank);

/// For a rank in a folder that fails before runLaunched: the others end with
/// its failure. Waits until they know it, or for the start time-out.
void tellOthers(const LaunchOptions &options, const StoreLocation &store,
                const Status &status);

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_LAUNCHRANKS_H

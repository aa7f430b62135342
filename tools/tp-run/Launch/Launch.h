//===- Launch.h - ranks as threads or processes -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_LAUNCH_LAUNCH_H
#define TP_TOOLS_TP_RUN_LAUNCH_LAUNCH_H

#include "Data/InputLoader.h"
#include "Launcher.h"
#include "Options.h"
#include "tp/Runtime/Transport.h"

namespace tp::run {

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

RankReport reportOf(runtime::Transport &transport, int64_t rank);

/// One rank from creation to its last step. A failure ends the other ranks
/// too. `place` is the rank's number on its host, if a launcher knows it;
/// `endsProcess` says that the rank has this process for itself. `times` (one
/// per command, or null) gets those of the last step.
runtime::Status runRank(const Options &options,
                        const runtime::Artifact &artifact,
                        runtime::Transport &transport,
                        const InputLoader &loader, int64_t number,
                        std::optional<int64_t> place, bool endsProcess,
                        runtime::CommandTime *times);

/// A run that has ended: its transport holds the results.
struct FinishedRun {
  /// What the transport works on, for ranks of several hosts.
  std::unique_ptr<runtime::Store> store;
  std::unique_ptr<runtime::Transport> transport;
  /// By rank, then command; empty without --trace.
  std::vector<std::vector<runtime::CommandTime>> times;
};

runtime::Status runThreads(const Options &options,
                           const runtime::Artifact &artifact,
                           const InputLoader &loader, FinishedRun &run);
/// Starts this program again for every rank, with `argv` and who it is.
runtime::Status runProcesses(const Options &options,
                             const runtime::Artifact &artifact, char **argv,
                             FinishedRun &run);
/// The part of such a process. Its status crosses in the transport.
runtime::Status runAsChild(const Options &options,
                           const runtime::Artifact &artifact);

/// Whether this process is one rank of several that a launcher started.
bool isLaunched(const Options &options, const runtime::EntryView &entry);
/// That rank. `first` is rank 0, whose `run` then holds `results` of all.
runtime::Status runLaunched(const Options &options,
                            const runtime::Artifact &artifact,
                            const InputLoader &loader,
                            const std::vector<int64_t> &results,
                            FinishedRun &run, bool &first);
/// The same for ranks that share no memory.
runtime::Status
runOverStore(const Options &options, const runtime::Artifact &artifact,
             const InputLoader &loader, const LauncherInfo &launched,
             const runtime::StoreAddress &address,
             const std::vector<int64_t> &results, FinishedRun &run);

/// How long ranks that were told to end may take to do so.
inline constexpr double graceSeconds = 1;

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_LAUNCH_LAUNCH_H

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
#include <atomic>
#include <functional>

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
/// too. `times` (one per command, or null) gets those of the last step.
runtime::Status runRank(const Options &options,
                        const runtime::Artifact &artifact,
                        runtime::Transport &transport,
                        const InputLoader &loader, int64_t rank,
                        runtime::CommandTime *times);

/// The same on a device, for the rank that this process is, or that
/// `--only-rank` names; `control` is what the ranks' processes share. The
/// device is that of the rank's number on its host, if a launcher knows it.
runtime::Status runDeviceRank(const Options &options,
                              const runtime::Artifact &artifact,
                              std::unique_ptr<runtime::Transport> control,
                              const InputLoader &loader, int64_t rank,
                              std::optional<int64_t> localRank,
                              runtime::CommandTime *times);

/// What ranks of all kinds do when their arguments are there: waits for the
/// other ranks and runs `step` as often as asked for.
runtime::Status barrierAndMeasure(const Options &options,
                                  runtime::Transport &transport, int64_t rank,
                                  const std::function<runtime::Status()> &step,
                                  RankReport &report);
/// Leaves the rank's report, and the times of its commands unless `times` is
/// null.
void leaveReport(runtime::Transport &transport, int64_t rank, RankReport report,
                 const std::vector<runtime::CommandTime> &measured,
                 runtime::CommandTime *times);
/// What stays of a rank's memory running out.
runtime::Status outOfMemory(const runtime::Artifact &artifact,
                            const runtime::Transport &transport, int64_t rank);

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

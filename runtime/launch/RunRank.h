//===- RunRank.h - one rank from creation to its last step ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_RUNRANK_H
#define TP_RUNTIME_LAUNCH_RUNRANK_H

#include "tp/Runtime/Launch/LaunchRanks.h"
#include "tp/Runtime/Launch/Launcher.h"

namespace tp::runtime {

/// One rank from creation to its last step. A failure ends the other ranks
/// too. `place` is the rank's number on its host, if a launcher knows it;
/// `endsProcess`: the rank has this process for itself. `times` (one per
/// command, or null) gets those of the last step.
Status runRank(const LaunchOptions &options, const Artifact &artifact,
               Transport &transport, const RankWork &work, int64_t number,
               std::optional<int64_t> place, bool endsProcess,
               CommandTime *times);

/// A rank of a launcher that shares no memory with the others.
Status runOverStore(const LaunchOptions &options, const Artifact &artifact,
                    const RankWork &work, const LauncherInfo &launched,
                    const StoreAddress &address,
                    const std::vector<int64_t> &results, FinishedRun &run);

/// How long ranks that were told to end may take to do so.
inline constexpr double graceSeconds = 1;

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_RUNRANK_H

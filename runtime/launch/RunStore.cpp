//===- RunStore.cpp - ranks of several hosts ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that a launcher starts, on devices of any number of hosts: they share
// no memory and connect through a TCP store that rank 0 serves. When all have
// ended, the results that rank 0 writes or compares come to it.
//
//===----------------------------------------------------------------------===//

#include "RunRank.h"

using namespace tp::runtime;

Status tp::runtime::runOverStore(const LaunchOptions &options,
                                 const Artifact &artifact, const RankWork &work,
                                 const LauncherInfo &launched,
                                 const StoreAddress &address,
                                 const std::vector<int64_t> &results,
                                 FinishedRun &run) {
  const EntryView &entry = artifact.entry();
  StoreOptions store;
  store.address = address;
  store.artifact = artifact.identity();
  store.run = launched.run;
  store.startTimeout = options.rank.startTimeoutSeconds;
  store.timeout = options.rank.timeoutSeconds;
  if (Status status = Store::join(entry, store, launched.rank, run.store);
      !status.ok())
    return status;
  run.transport = run.store->transport();
  Status status =
      run.transport->barrier(launched.rank, options.rank.startTimeoutSeconds);
  CommandTime *times = nullptr;
  if (options.rank.trace) {
    run.times.resize(entry.numRanks());
    run.times[launched.rank].resize(entry.program.size());
    times = run.times[launched.rank].data();
  }
  if (status.ok())
    status = runRank(options, artifact, *run.transport, work, launched.rank,
                     launched.localRank, /*endsProcess=*/true, times);
  if (status.ok())
    status = run.store->finish(results);
  // The first failure of all ranks says most.
  if (std::optional<Failure> failure = run.transport->failure();
      failure && !status.ok())
    return {failure->code, failure->message};
  return status;
}

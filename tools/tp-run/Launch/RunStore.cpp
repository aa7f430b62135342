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

#include "Launch.h"
#include "Report/Summary.h"
#include <filesystem>

using namespace tp::run;
using namespace tp::runtime;

/// Hosts have clocks of their own: every rank writes a trace of itself,
/// trace.rank2.json.
static Status writeOwnTrace(const Options &options, const EntryView &entry,
                            int64_t rank,
                            const std::vector<CommandTime> &times) {
  std::filesystem::path path = options.trace;
  path.replace_extension(".rank" + std::to_string(rank) +
                         path.extension().string());
  std::vector<std::vector<CommandTime>> all(entry.numRanks());
  all[rank] = times;
  return writeTrace(path, entry, all);
}

Status tp::run::runOverStore(const Options &options, const Artifact &artifact,
                             const InputLoader &loader,
                             const LauncherInfo &launched,
                             const StoreAddress &address,
                             const std::vector<int64_t> &results,
                             FinishedRun &run) {
  const EntryView &entry = artifact.entry();
  StoreOptions store;
  store.address = address;
  store.artifact = artifact.identity();
  store.run = launched.run;
  store.startTimeout = options.startTimeout;
  store.timeout = options.timeout;
  if (Status status = Store::join(entry, store, launched.rank, run.store);
      !status.ok())
    return status;
  run.transport = run.store->transport();
  Status status = run.transport->barrier(launched.rank, options.startTimeout);
  std::vector<CommandTime> times(options.trace.empty() ? 0
                                                       : entry.program.size());
  if (status.ok())
    status = runRank(options, artifact, *run.transport, loader, launched.rank,
                     launched.localRank, /*endsProcess=*/true,
                     times.empty() ? nullptr : times.data());
  if (status.ok())
    status = run.store->finish(results);
  if (status.ok() && !times.empty())
    status = writeOwnTrace(options, entry, launched.rank, times);
  // The first failure of all ranks says most.
  if (std::optional<Failure> failure = run.transport->failure();
      failure && !status.ok())
    return {failure->code, failure->message};
  return status;
}

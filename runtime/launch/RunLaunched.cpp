//===- RunLaunched.cpp - ranks that a launcher starts ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torchrun, mpirun and srun start every rank themselves and say in the
// environment which one it is. On one host the ranks may find each other by a
// file in a folder. Otherwise they connect to rank 0 at an address.
//
//===----------------------------------------------------------------------===//

#include "RunRank.h"
#include "tp/Runtime/Transport/FolderStore.h"

using namespace tp::runtime;

static FolderOptions folderOptions(const LaunchOptions &options,
                                   const StoreLocation &store,
                                   const LauncherInfo &launched) {
  FolderOptions folder;
  folder.folder = store.folder;
  folder.run = launched.run;
  folder.data = store.data;
  folder.startTimeout = options.rank.startTimeoutSeconds;
  return folder;
}

void tp::runtime::tellOthers(const LaunchOptions &options,
                             const StoreLocation &store, const Status &status) {
  std::optional<LauncherInfo> launched = findLauncher();
  if (store.folder.empty() || !launched || launched->rank >= launched->size)
    return;
  Status told = status.within("rank " + std::to_string(launched->rank));
  failFolder(folderOptions(options, store, *launched), launched->rank,
             launched->size, {told.code(), launched->rank, told.message()});
}

bool tp::runtime::isLaunched(const LaunchOptions &options,
                             const StoreLocation &store,
                             const EntryView &entry) {
  if (store.stated())
    return true;
  // Without a flag, ranks on devices. A launcher of one process is none: a
  // shell that srun started, say.
  std::optional<LauncherInfo> launched = findLauncher();
  return entry.isCuda() && !options.onlyRank && launched && launched->size > 1;
}

Status tp::runtime::runLaunched(const LaunchOptions &options,
                                const StoreLocation &store,
                                const Artifact &artifact, const RankWork &work,
                                const std::vector<int64_t> &results,
                                FinishedRun &run, int64_t &rank) {
  const EntryView &entry = artifact.entry();
  std::optional<LauncherInfo> launched = findLauncher();
  if (!launched)
    return invalidArgument("--store is for ranks that torchrun, mpirun or srun "
                           "starts: none of them has set the environment; set "
                           "RANK and WORLD_SIZE to start ranks by hand");
  if (Status status = checkLaunched(*launched, entry); !status.ok())
    return status;
  rank = launched->rank;
  if (store.folder.empty()) {
    std::optional<StoreAddress> address =
        store.address ? store.address : findStore(*launched);
    if (!address)
      return invalidArgument(launched->by +
                             " has not said where rank 0 can be met: expected "
                             "--store=tcp://HOST:PORT with the host of rank 0");
    return runOverStore(options, artifact, work, *launched, *address, results,
                        run);
  }
  if (launched->localSize && *launched->localSize != launched->size)
    return unsupported(launched->by + " started " +
                       std::to_string(*launched->localSize) + " of " +
                       std::to_string(launched->size) +
                       " ranks on this host: expected all of them, or "
                       "--store=tcp://HOST:PORT with the host of rank 0");
  FolderOptions folder = folderOptions(options, store, *launched);
  folder.artifact = artifact.identity();
  if (Status status = joinFolder(entry, folder, rank, run.transport);
      !status.ok())
    return status;
  Status status = runRank(options, artifact, *run.transport, work, rank,
                          launched->localRank, /*endsProcess=*/true, nullptr);
  // Every rank has left its report, and with it its results.
  if (status.ok())
    status = run.transport->leave(rank, options.rank.timeoutSeconds);
  // The first failure of all ranks says most.
  if (std::optional<Failure> failure = run.transport->failure();
      failure && !status.ok())
    return {failure->code, failure->message};
  return status;
}

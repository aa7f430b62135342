//===- RunLaunched.cpp - ranks that a launcher starts ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torchrun, mpirun and srun start every rank themselves and say in the
// environment which one it is. On one host the ranks may find each other by a
// file in the folder --store: rank 0 writes there where its memory for all
// ranks can be opened, and removes the file when all have. Otherwise they meet
// at an address.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "tp/Runtime/OutputFile.h"
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// Rank 0 makes the ranks' memory; the others open it where the file says.
Status meetInStore(const Options &options, const Artifact &artifact,
                   int64_t rank, std::unique_ptr<Transport> &transport,
                   int &descriptor) {
  const EntryView &entry = artifact.entry();
  std::string path = options.store + "/tp-ranks";
  std::string identity = std::to_string(artifact.identity());
  if (rank == 0) {
    if (access(path.c_str(), F_OK) == 0)
      return fileError(path + ": it is there already, from another run: remove "
                              "it or give another --store");
    if (Status status = createProcessTransport(entry, transport, descriptor);
        !status.ok())
      return status;
    return writeOutputFile(path, identity + " /proc/" +
                                     std::to_string(getpid()) + "/fd/" +
                                     std::to_string(descriptor) + "\n");
  }
  Clock::time_point begin = Clock::now();
  for (;;) {
    std::ifstream file(path);
    std::string of, place;
    if (file >> of >> place) {
      if (of != identity)
        return fileError(options.artifact + ": rank 0 runs another artifact");
      descriptor = open(place.c_str(), O_RDWR | O_CLOEXEC);
      if (descriptor < 0)
        return systemError("cannot open the memory of rank 0, " + place + ": " +
                           std::strerror(errno) +
                           " (is it on this host, and the same user's?)");
      return attachProcessTransport(entry, descriptor, transport);
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() >
        options.startTimeout)
      return {Code::Timeout, "rank " + std::to_string(rank) + " found no " +
                                 path + " of rank 0 in time"};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Until every rank has left its report, and with it its results.
Status awaitReports(const Options &options, Transport &transport) {
  Clock::time_point begin = Clock::now();
  for (int64_t rank = 0; rank < transport.size();) {
    if (reportOf(transport, rank).finished) {
      ++rank;
      continue;
    }
    if (std::optional<Failure> failure = transport.failure())
      return {failure->code, failure->message};
    if (std::chrono::duration<double>(Clock::now() - begin).count() >
        options.timeout)
      return {Code::Timeout, "rank " + std::to_string(rank) +
                                 " has not come to its end in time"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

} // namespace

bool tp::run::isLaunched(const Options &options, const EntryView &entry) {
  if (!options.store.empty())
    return true;
  // Without a flag, ranks on devices. A launcher of one process is none: a
  // shell that srun started, say.
  std::optional<LauncherInfo> launched = findLauncher();
  return entry.isCuda() && !options.onlyRank && launched && launched->size > 1;
}

Status tp::run::runLaunched(const Options &options, const Artifact &artifact,
                            const InputLoader &loader,
                            const std::vector<int64_t> &results,
                            FinishedRun &run, bool &first) {
  const EntryView &entry = artifact.entry();
  std::optional<LauncherInfo> launched = findLauncher();
  if (!launched)
    return invalidArgument("--store is for ranks that torchrun, mpirun or srun "
                           "starts: none of them has set the environment");
  if (Status status = checkLaunched(*launched, entry); !status.ok())
    return status;
  int64_t rank = launched->rank;
  first = rank == 0;
  bool folder = !options.store.empty() && !options.storeAddress;
  if (!folder) {
    std::optional<StoreAddress> address =
        options.storeAddress ? options.storeAddress : findStore(*launched);
    if (!address)
      return invalidArgument(launched->by +
                             " has not said where rank 0 can be met: expected "
                             "--store=tcp://HOST:PORT with the host of rank 0");
    return runOverStore(options, artifact, loader, *launched, *address, results,
                        run);
  }
  if (launched->localSize && *launched->localSize != launched->size)
    return unsupported(launched->by + " started " +
                       std::to_string(*launched->localSize) + " of " +
                       std::to_string(launched->size) +
                       " ranks on this host: expected all of them, or "
                       "--store=tcp://HOST:PORT with the host of rank 0");
  std::unique_ptr<Transport> control;
  int descriptor = -1;
  Status status = meetInStore(options, artifact, rank, control, descriptor);
  if (status.ok())
    status = control->attach(rank);
  if (status.ok())
    status = control->barrier(rank, options.startTimeout);
  // All have opened it, or nobody shall.
  if (first && descriptor >= 0)
    unlink((options.store + "/tp-ranks").c_str());
  if (!status.ok())
    return status;
  // Looks on at the same memory after the rank has ended.
  if (status = attachProcessTransport(entry, dup(descriptor), run.transport);
      !status.ok())
    return status;
  status = entry.isCuda()
               ? runDeviceRank(options, artifact, std::move(control), loader,
                               rank, launched->localRank, nullptr)
               : runRank(options, artifact, *control, loader, rank, nullptr);
  if (status.ok() && first)
    status = awaitReports(options, *run.transport);
  // The first failure of all ranks says most.
  if (std::optional<Failure> failure = run.transport->failure();
      failure && !status.ok())
    return {failure->code, failure->message};
  return status;
}

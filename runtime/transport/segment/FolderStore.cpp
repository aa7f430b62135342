//===- FolderStore.cpp - ranks of one host find each other ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/FolderStore.h"
#include "tp/Runtime/OutputFile.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace tp::runtime;

using Clock = std::chrono::steady_clock;

static std::string fileOf(const FolderOptions &options) {
  return options.folder + "/tp-ranks";
}

/// Rank 0 makes the ranks' memory and says where it is.
static Status invite(const EntryView &entry, const FolderOptions &options,
                     std::unique_ptr<Transport> &transport) {
  std::string path = fileOf(options);
  if (access(path.c_str(), F_OK) == 0)
    return fileError(path + ": it is there already, from another run: remove "
                            "it or give another --store");
  int descriptor = -1;
  if (Status status = createProcessTransport(entry, transport, descriptor);
      !status.ok())
    return status;
  return writeOutputFile(path, std::to_string(options.artifact) + " /proc/" +
                                   std::to_string(getpid()) + "/fd/" +
                                   std::to_string(descriptor) + "\n");
}

/// The others open it there.
static Status accept(const EntryView &entry, const FolderOptions &options,
                     int64_t rank, std::unique_ptr<Transport> &transport) {
  std::string path = fileOf(options);
  Clock::time_point begin = Clock::now();
  for (;;) {
    std::ifstream file(path);
    std::string of, place;
    if (file >> of >> place) {
      if (of != std::to_string(options.artifact))
        return fileError(options.program + ": rank 0 runs another artifact");
      int descriptor = open(place.c_str(), O_RDWR | O_CLOEXEC);
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

Status tp::runtime::joinFolder(const EntryView &entry,
                               const FolderOptions &options, int64_t rank,
                               std::unique_ptr<Transport> &transport) {
  std::unique_ptr<Transport> made;
  Status status = rank == 0 ? invite(entry, options, made)
                            : accept(entry, options, rank, made);
  if (status.ok())
    status = made->attach(rank);
  if (status.ok())
    status = made->barrier(rank, options.startTimeout);
  // All have opened it, or nobody shall.
  if (rank == 0 && made)
    unlink(fileOf(options).c_str());
  if (status.ok())
    transport = std::move(made);
  return status;
}

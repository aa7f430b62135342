//===- RunRank.cpp - one rank from creation to its last step --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>
#include <sys/resource.h>

using namespace tp::run;
using namespace tp::runtime;

namespace {

double threadCpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

Status runSteps(const Options &options, const Artifact &artifact,
                Transport &transport, const InputLoader &loader, int64_t number,
                CommandTime *times) {
  std::unique_ptr<Rank> rank;
  if (Status status = Rank::create(artifact, transport, number,
                                   options.rankOptions(), rank);
      !status.ok())
    return status;
  if (Status status = loader.fill(artifact.entry(), transport, *rank);
      !status.ok())
    return status;
  RankReport report;
  if (Status status = barrierAndMeasure(
          options, transport, number, [&] { return rank->step(); }, report);
      !status.ok())
    return status;
  leaveReport(transport, number, report, rank->times(), times);
  return {};
}

} // namespace

Status tp::run::barrierAndMeasure(const Options &options, Transport &transport,
                                  int64_t rank,
                                  const std::function<Status()> &step,
                                  RankReport &report) {
  if (!options.onlyRank)
    if (Status status = transport.barrier(rank, options.startTimeout);
        !status.ok())
      return status;
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  double cpu = threadCpuSeconds();
  for (int64_t i = 0; i < options.repeat; ++i) {
    // The libraries' first calls compile code; that is no cost of a step.
    if (i == 1)
      cpu = threadCpuSeconds();
    Clock::time_point begin = Clock::now();
    if (Status status = step(); !status.ok())
      return status;
    seconds.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  report.cpu = (threadCpuSeconds() - cpu) /
               double(std::max<int64_t>(options.repeat - 1, 1));
  std::sort(seconds.begin(), seconds.end());
  report.shortest = seconds.front();
  report.median = seconds[seconds.size() / 2];
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  report.residentBytes = int64_t(usage.ru_maxrss) * 1024;
  return {};
}

void tp::run::leaveReport(Transport &transport, int64_t rank, RankReport report,
                          const std::vector<CommandTime> &measured,
                          CommandTime *times) {
  report.finished = true;
  static_assert(sizeof(report) <= Transport::mailboxBytes);
  std::memcpy(transport.mailbox(rank), &report, sizeof(report));
  if (times)
    std::copy(measured.begin(), measured.end(), times);
}

Status tp::run::outOfMemory(const Artifact &artifact,
                            const Transport &transport, int64_t rank) {
  return systemError("rank " + std::to_string(rank) + " is out of memory in " +
                     artifact.entry().describe(transport.progress(rank)));
}

RankReport tp::run::reportOf(Transport &transport, int64_t rank) {
  RankReport report;
  std::memcpy(&report, transport.mailbox(rank), sizeof(report));
  return report;
}

Status tp::run::runRank(const Options &options, const Artifact &artifact,
                        Transport &transport, const InputLoader &loader,
                        int64_t rank, CommandTime *times) {
  Status status;
  try {
    status = runSteps(options, artifact, transport, loader, rank, times);
  } catch (const std::bad_alloc &) {
    status = outOfMemory(artifact, transport, rank);
  }
  // A failed check is known to all ranks; everything else the others must
  // hear of. The first failure stays.
  if (!status.ok())
    transport.abort({status.code(), rank, status.message()});
  return status;
}

//===- RunRank.cpp - one rank from creation to its last step --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunRank.h"
#include "tp/Runtime/CreateRank.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>

using namespace tp::runtime;

namespace {

/// Of this program: the peak of getrusage is that of the process, which may
/// have run a larger program before.
int64_t peakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes)
      return kilobytes * 1024;
  }
  return 0;
}

double threadCpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

Status barrierAndMeasure(const LaunchOptions &options, const RankWork &work,
                         Rank &rank, RankReport &report) {
  if (!options.onlyRank)
    if (Status status = rank.barrier(options.rank.startTimeoutSeconds);
        !status.ok())
      return status;
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  double cpu = threadCpuSeconds();
  for (int64_t i = 0; i < options.steps; ++i) {
    if (i > 0)
      if (Status status = work.feed(rank, i); !status.ok())
        return status;
    // The libraries' first calls compile code; that is no cost of a step.
    if (i == 1)
      cpu = threadCpuSeconds();
    Clock::time_point begin = Clock::now();
    if (Status status = rank.step(); !status.ok())
      return status;
    seconds.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  report.cpu = (threadCpuSeconds() - cpu) /
               double(std::max<int64_t>(options.steps - 1, 1));
  std::sort(seconds.begin(), seconds.end());
  report.shortest = seconds.front();
  report.median = seconds[seconds.size() / 2];
  report.residentBytes = peakResidentBytes();
  return {};
}

/// What a rank does once it is there.
Status runSteps(const LaunchOptions &options, const RankWork &work, Rank &rank,
                RankReport &report) {
  if (Status status = work.load(rank); !status.ok())
    return status;
  if (Status status = barrierAndMeasure(options, work, rank, report);
      !status.ok())
    return status;
  if (Status status = rank.fetchResults(); !status.ok())
    return status;
  return work.finish(rank);
}

/// Leaves the rank's report, and the times of its commands unless `times` is
/// null.
void leaveReport(Transport &transport, const Rank &rank, RankReport report,
                 CommandTime *times) {
  RankFacts facts = rank.facts();
  report.fusedAttentions = facts.fusedAttentions;
  report.attentionsInSteps = facts.attentionsInSteps;
  facts.whyInSteps.copy(report.whyInSteps, sizeof(report.whyInSteps) - 1);
  facts.collectiveMemory.copy(report.deviceMemory,
                              sizeof(report.deviceMemory) - 1);
  report.finished = true;
  static_assert(sizeof(report) <= Transport::mailboxBytes);
  std::memcpy(transport.mailbox(rank.rank()), &report, sizeof(report));
  if (times)
    std::copy(rank.times().begin(), rank.times().end(), times);
}

} // namespace

RankReport tp::runtime::reportOf(Transport &transport, int64_t rank) {
  RankReport report;
  std::memcpy(&report, transport.mailbox(rank), sizeof(report));
  return report;
}

Status tp::runtime::runRank(const LaunchOptions &options,
                            const Artifact &artifact, Transport &transport,
                            const RankWork &work, int64_t number,
                            std::optional<int64_t> place, bool endsProcess,
                            CommandTime *times) {
  RankOptions wishes = options.rank;
  wishes.endsProcess = endsProcess;
  wishes.device.place = place;
  std::unique_ptr<Rank> rank;
  RankReport report;
  Status status;
  try {
    status = createRank(artifact, transport, number, wishes, rank);
    if (status.ok())
      status = runSteps(options, work, *rank, report);
    if (status.ok())
      leaveReport(transport, *rank, report, times);
  } catch (const std::bad_alloc &) {
    status =
        systemError("rank " + std::to_string(number) + " is out of memory in " +
                    artifact.entry().describe(transport.progress(number)));
  }
  // A failed check is known to all ranks; everything else the others must
  // hear of. The first failure stays.
  if (!status.ok() && rank)
    rank->abort(status);
  else if (!status.ok())
    transport.abort({status.code(), number, status.message()});
  return status;
}

//===- RunThreads.cpp - ranks as threads ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"
#include "RunRank.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <time.h>

using namespace tp::runtime;

namespace {

/// Shared with the threads, which may outlive the wait for them.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t running = 0;

  void starts() {
    // Earlier ones may finish while later ones are started.
    std::lock_guard lock(mutex);
    ++running;
  }
  void finished() {
    // Notified under the lock: the waiter may destroy this right after.
    std::lock_guard lock(mutex);
    --running;
    changed.notify_all();
  }
};

/// A thread that computes on after a failure is given up when it has computed
/// for `graceSeconds`, one that waits when it has done so for this long. One
/// that waits for a processor does neither.
constexpr double longestWait = 10;

/// Processor time in seconds; 0 for a thread that has ended.
double processorTime(std::thread &thread) {
  clockid_t clock;
  timespec time;
  if (pthread_getcpuclockid(thread.native_handle(), &clock) ||
      clock_gettime(clock, &time))
    return 0;
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Whether a thread has computed for `graceSeconds` since `before`.
bool computesOn(std::vector<std::thread> &threads,
                const std::vector<double> &before) {
  for (size_t i = 0; i < threads.size(); ++i)
    if (processorTime(threads[i]) - before[i] > graceSeconds)
      return true;
  return false;
}

} // namespace

Status tp::runtime::runThreads(const LaunchOptions &options,
                               const Artifact &artifact, const RankWork &work,
                               FinishedRun &run) {
  const EntryView &entry = artifact.entry();
  if (Status status = createThreadTransport(entry, run.transport); !status.ok())
    return status;
  Transport &transport = *run.transport;
  run.times.resize(!options.rank.trace ? 0 : entry.numRanks());
  for (std::vector<CommandTime> &times : run.times)
    times.resize(entry.program.size());

  Progress progress;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < entry.numRanks(); ++rank) {
    if (options.onlyRank && *options.onlyRank != rank)
      continue;
    CommandTime *times = run.times.empty() ? nullptr : run.times[rank].data();
    progress.starts();
    try {
      threads.emplace_back([&, rank, times] {
        CrashReport crash(entry, transport, rank);
        (void)runRank(options, artifact, transport, work, rank,
                      /*place=*/std::nullopt, /*endsProcess=*/false, times);
        progress.finished();
      });
    } catch (const std::system_error &error) {
      progress.finished();
      transport.abort({Code::System, rank,
                       "cannot start a thread for rank " +
                           std::to_string(rank) + ": " + error.what()});
      break;
    }
  }

  std::unique_lock lock(progress.mutex);
  auto done = [&] { return progress.running == 0; };
  while (!done() && !transport.aborted())
    progress.changed.wait_for(lock, std::chrono::milliseconds(100), done);
  std::vector<double> before;
  for (std::thread &thread : threads)
    before.push_back(processorTime(thread));
  // Counted in rounds, which take longer where threads wait for a processor.
  constexpr double round = 0.005;
  for (double told = 0;
       !done() && told < longestWait && !computesOn(threads, before);
       told += round)
    progress.changed.wait_for(lock, std::chrono::duration<double>(round), done);
  bool ended = done();
  lock.unlock();
  std::optional<Failure> failure = transport.failure();
  if (!ended) {
    // A thread that hangs in a kernel cannot be ended, only the process can.
    printError(failure->message);
    std::fflush(nullptr);
    hostProgram().callCleanUp();
    std::_Exit(1);
  }
  for (std::thread &thread : threads)
    thread.join();
  return failure ? Status(failure->code, failure->message) : Status();
}

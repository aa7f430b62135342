//===- RankThreads.cpp - a thread for every rank --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>

using namespace tp::python;

// oneDNN computes with the OpenMP that it found when this module was loaded.
// Another one may have come since, with torch: looked up now, not when the
// first rank runs, the function is that of oneDNN's.
using SetThreads = void (*)(int);
static const auto setOpenMpThreads =
    reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

RankThreads::RankThreads(size_t size) : shared(std::make_shared<Shared>(size)) {
  try {
    for (size_t rank = 0; rank < size; ++rank)
      threads.emplace_back([shared = shared, rank] { run(*shared, rank); });
  } catch (const std::system_error &error) {
    close();
    throw Failure(TP_SYSTEM, "cannot start a thread for rank " +
                                 std::to_string(threads.size()) + ": " +
                                 error.what());
  }
}

RankThreads::~RankThreads() { close(); }

void RankThreads::close() {
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    shared->closing = true;
  }
  shared->started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::start(Task next) {
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    if (shared->closing)
      throw Failure(TP_RANK_FAILED, "ranks have not ended an earlier step");
    shared->task = std::move(next);
    shared->numRunning = threads.size();
    shared->isRunning.assign(threads.size(), true);
    shared->results.assign(threads.size(), Failure());
    ++shared->round;
  }
  shared->started.notify_all();
}

bool RankThreads::wait(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  return shared->ended.wait_for(lock, time,
                                [this] { return shared->numRunning == 0; });
}

std::vector<Failure> RankThreads::failures() const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  return shared->results;
}

std::vector<size_t> RankThreads::running() const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < shared->isRunning.size(); ++rank)
    if (shared->isRunning[rank])
      ranks.push_back(rank);
  return ranks;
}

int64_t RankThreads::processorTime() const {
  int64_t sum = 0;
  for (size_t rank : running()) {
    // The thread is there until close() or leave().
    clockid_t clock;
    timespec time = {};
    auto thread = const_cast<std::thread &>(threads[rank]).native_handle();
    if (pthread_getcpuclockid(thread, &clock) == 0 &&
        clock_gettime(clock, &time) == 0)
      sum += int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }
  return sum;
}

void RankThreads::leave() {
  for (std::thread &thread : threads)
    thread.detach();
  threads.clear();
  close();
}

void RankThreads::run(Shared &shared, size_t rank) {
  if (setOpenMpThreads)
    setOpenMpThreads(1);
  uint64_t done = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(shared.mutex);
      shared.started.wait(
          lock, [&] { return shared.closing || shared.round != done; });
      if (shared.round == done)
        return;
      done = shared.round;
    }
    Failure failure;
    try {
      failure = shared.task(rank);
    } catch (const Failure &thrown) {
      failure = thrown;
    } catch (const std::bad_alloc &) {
      failure = Failure(TP_SYSTEM, "out of memory");
    }
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.results[rank] = std::move(failure);
    shared.isRunning[rank] = false;
    if (--shared.numRunning == 0)
      shared.ended.notify_all();
  }
}

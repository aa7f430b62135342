//===- RankThreads.cpp - a thread for every rank --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"
#include <dlfcn.h>

using namespace tp::python;

// oneDNN computes with the OpenMP that it found when this module was loaded.
// Another one may have come since, with torch: looked up now, not when the
// first rank runs, the function is that of oneDNN's.
using SetThreads = void (*)(int);
static const auto setOpenMpThreads =
    reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

RankThreads::RankThreads(size_t size) : results(size) {
  try {
    for (size_t rank = 0; rank < size; ++rank)
      threads.emplace_back([this, rank] { run(rank); });
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
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::start(Task next) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    task = std::move(next);
    running = threads.size();
    ++round;
  }
  started.notify_all();
}

bool RankThreads::wait(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex);
  return ended.wait_for(lock, time, [this] { return running == 0; });
}

void RankThreads::run(size_t rank) {
  if (setOpenMpThreads)
    setOpenMpThreads(1);
  uint64_t done = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, [&] { return closing || round != done; });
      if (round == done)
        return;
      done = round;
    }
    Failure failure;
    try {
      failure = task(rank);
    } catch (const Failure &thrown) {
      failure = thrown;
    } catch (const std::bad_alloc &) {
      failure = Failure(TP_SYSTEM, "out of memory");
    }
    std::lock_guard<std::mutex> lock(mutex);
    results[rank] = std::move(failure);
    if (--running == 0)
      ended.notify_all();
  }
}

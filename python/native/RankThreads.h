//===- RankThreads.h - a thread for every rank ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PYTHON_RANKTHREADS_H
#define TP_PYTHON_RANKTHREADS_H

#include "Failure.h"
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tp::python {

/// One thread per rank, which outlives the steps. A call gives all of them one
/// task and waits for the last one.
class RankThreads {
public:
  using Task = std::function<Failure(size_t rank)>;

  /// Throws a Failure if the system has no room for a thread.
  explicit RankThreads(size_t size);
  RankThreads(const RankThreads &) = delete;
  ~RankThreads();

  /// Throws a Failure if ranks were left.
  void start(Task task);
  /// True when all ranks have ended the task, false when the time is over.
  bool wait(std::chrono::milliseconds time);
  /// Of the task, one per rank; those of ranks that have not ended it are none.
  std::vector<Failure> failures() const;

  /// The ranks that have not ended the task.
  std::vector<size_t> running() const;
  /// The time for which these have used processors, in nanoseconds. One that
  /// waits for something uses none.
  int64_t processorTime() const;
  /// Leaves the ranks that have not ended the task to themselves. What the task
  /// uses has to live on.
  void leave();

private:
  /// What a thread that is left still uses.
  struct Shared {
    explicit Shared(size_t size) : isRunning(size), results(size) {}

    std::mutex mutex;
    std::condition_variable started, ended;
    Task task;
    uint64_t round = 0;
    size_t numRunning = 0;
    std::vector<bool> isRunning;
    std::vector<Failure> results;
    bool closing = false;
  };
  static void run(Shared &shared, size_t rank);
  /// Ends the threads.
  void close();

  std::shared_ptr<Shared> shared;
  std::vector<std::thread> threads;
};

} // namespace tp::python

#endif // TP_PYTHON_RANKTHREADS_H

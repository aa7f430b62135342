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
  ~RankThreads();

  void start(Task task);
  /// True when all ranks have ended the task, false when the time is over.
  bool wait(std::chrono::milliseconds time);
  /// Of the task that ended, one per rank.
  const std::vector<Failure> &failures() const { return results; }

private:
  void run(size_t rank);
  /// Ends the threads.
  void close();

  std::mutex mutex;
  std::condition_variable started, ended;
  Task task;
  uint64_t round = 0;
  size_t running = 0;
  bool closing = false;
  std::vector<Failure> results;
  std::vector<std::thread> threads;
};

} // namespace tp::python

#endif // TP_PYTHON_RANKTHREADS_H

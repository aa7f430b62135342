//===- DeviceWatch.cpp - waiting for a device -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <chrono>
#include <sched.h>
#include <thread>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// The command that the device is at: the collective it is in, else what the
/// program's other queue came to last.
int64_t DeviceRank::position() {
  uint32_t compute = words[int(Queue::Compute)];
  uint32_t communication = words[int(Queue::Communication)];
  if (communication % 2)
    return communication / 2;
  return compute ? (int64_t(compute) - 1) / 2 : -1;
}

Status DeviceRank::stuck(double seconds) {
  int64_t here = position();
  char text[32];
  std::snprintf(text, sizeof(text), "%g", seconds);
  std::string message = "rank " + std::to_string(number) + " waited " + text +
                        " s in " + entry.describe(here);
  bool inProgram = here >= 0 && here < int64_t(entry.program.size());
  if (int64_t more = inProgram ? endOfGroup(here) - here - 1 : 0;
      more > 0 && !entry.program[here].withPrevious)
    message += " (and the " + std::to_string(more) + " that start with it)";
  const char *separator = ": ";
  bool collective = inProgram && communicates(here);
  for (int64_t rank = 0; collective && rank < transport.size(); ++rank) {
    if (rank == number || commandOf(transport.progress(rank)) == here)
      continue;
    message += separator + ("rank " + std::to_string(rank)) + " is at " +
               entry.describe(transport.progress(rank));
    separator = "; ";
  }
  Failure cause{Code::Timeout, number, message};
  transport.abort(cause);
  // Another rank may have been first.
  return {Code::Timeout, transport.failure().value_or(cause).message};
}

/// The device reports an error of something that ran before.
Status DeviceRank::broke(const Status &status) {
  Status named = within(status, position());
  transport.abort({named.code(), number, named.message()});
  return named;
}

Status DeviceRank::watch(CUstream stream, bool step) {
  const Driver &driver = gpu.driver();
  uint32_t seen[2] = {0, 0};
  double changed = secondsNow(), looked = changed;
  for (int64_t round = 0;; ++round) {
    int code = driver.cuStreamQuery.code(stream);
    if (code == CUDA_SUCCESS)
      return {};
    if (code != CUDA_ERROR_NOT_READY) {
      Status status = driver.cuStreamQuery.failed(code);
      return step ? broke(status) : status;
    }
    double now = secondsNow();
    // What the host program's stream does before may take any time.
    if (step && follows) {
      follows = driver.cuEventQuery.code(before) == CUDA_ERROR_NOT_READY;
      changed = now;
    }
    for (int i = 0; i < 2 && step; ++i)
      if (uint32_t word = words[i]; word != seen[i]) {
        seen[i] = word;
        changed = now;
        int64_t here = position();
        transport.progress(number, here < 0 ? here : entry.progressAt(here));
      }
    constexpr double lookSeconds = 1e-3;
    if (now - looked > lookSeconds) {
      looked = now;
      if (!step)
        transport.heartbeat(number);
      if (transport.aborted()) {
        Failure cause = transport.failure().value_or(Failure());
        transport.abort(cause);
        return {Code::RankFailed, cause.message};
      }
    }
    if (now - changed > options.timeoutSeconds)
      return stuck(options.timeoutSeconds);
    // Short waits are most of them; a core is not for the long ones.
    constexpr int64_t spins = 2000;
    if (round < spins)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

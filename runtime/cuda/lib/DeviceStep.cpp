//===- DeviceStep.cpp - a step on a device --------------------------------===//
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

namespace {
double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
} // namespace

Status DeviceRank::mark(Queue queue, int64_t index, bool ended) {
  return device.driver().cuStreamWriteValue32(
      device.stream(queue), wordsSeen + int(queue) * sizeof(uint32_t),
      uint32_t(2 * index + 1 + ended), 0);
}

Status DeviceRank::queuePoison() {
  const Driver &driver = device.driver();
  CUstream stream = device.stream(Queue::Compute);
  Status status;
  for (const Padding &fill : padding)
    if (status.ok())
      status = driver.cuMemsetD2D8Async(fill.address, fill.pitch, fill.pattern,
                                        fill.bytes, fill.rows, stream);
  // The arena and results hold all types: NaN in all floats.
  for (size_t i = 0; i < manifest.results.size() && status.ok(); ++i)
    if (int64_t bytes = manifest.results[i].localBytes())
      status = driver.cuMemsetD8Async(
          memory + layout.results[i],
          manifest.results[i].dtype == DataType::I1 ? 1 : 0xff, bytes, stream);
  if (status.ok() && manifest.memory.arenaBytes)
    status = driver.cuMemsetD8Async(memory + layout.arena, 0xff,
                                    manifest.memory.arenaBytes, stream);
  return status;
}

Status DeviceRank::queueCommand(int64_t index) {
  const Command &command = manifest.program[index];
  Prepared &what = prepared[index];
  CUstream stream = device.stream(schedule.commands[index].queue);
  if (const auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    const Launch &launch = kernel->launch;
    return device.driver().cuLaunchKernel(
        what.function, launch.grid[0], launch.grid[1], launch.grid[2],
        launch.block[0], launch.block[1], launch.block[2], launch.sharedBytes,
        stream, what.parameters.data(), nullptr);
  }
  if (std::holds_alternative<GemmCommand>(command.what))
    return products->run(what.product, stream);
  const auto &call = std::get<CollectiveCommand>(command.what);
  return transport.collective(
      number,
      {&call, reinterpret_cast<const void *>(address(call.input)),
       reinterpret_cast<void *>(address(call.output))},
      options.timeoutSeconds);
}

Status DeviceRank::queueStep(bool inGraph) {
  const Driver &driver = device.driver();
  CUstream compute = device.stream(Queue::Compute);
  bool communicates = schedule.communicates && !options.skipCollectives;
  bool forked = false;
  Status status;
  if (options.poison)
    status = queuePoison();
  if (status.ok())
    status = driver.cuMemsetD8Async(memory + layout.status, 0, sizeof(int32_t),
                                    compute);
  if (status.ok() && (communicates || options.trace))
    status = driver.cuEventRecord(start, compute);
  if (!status.ok())
    return status.within("rank " + std::to_string(number) +
                         ", the start of the step");
  int64_t commands = manifest.program.size();
  for (int64_t i = 0; i < commands; ++i) {
    const ScheduledCommand &scheduled = schedule.commands[i];
    Queue queue = scheduled.queue;
    CUstream stream = device.stream(queue);
    bool collective = queue == Queue::Communication;
    if (collective && options.skipCollectives)
      continue;
    if (!inGraph)
      transport.progress(number, i);
    // The other queue's work of the step before has ended, and a captured
    // stream must come from the one that began the capture.
    if (collective && !std::exchange(forked, true) && scheduled.waitFor < 0)
      status = driver.cuStreamWaitEvent(stream, start, 0);
    if (status.ok() && scheduled.waitFor >= 0 && !options.skipCollectives)
      status =
          driver.cuStreamWaitEvent(stream, prepared[scheduled.waitFor].done, 0);
    bool marked =
        !inGraph || collective || scheduled.awaited || scheduled.waitFor >= 0;
    if (status.ok() && marked)
      status = mark(queue, i, /*ended=*/false);
    if (status.ok() && options.trace)
      status = driver.cuEventRecord(prepared[i].begin, stream);
    if (!status.ok())
      return within(status, i);
    if (Status failed = queueCommand(i); !failed.ok())
      // A transport's errors say where they happened.
      return collective ? failed : within(failed, i);
    if (options.trace)
      status = driver.cuEventRecord(prepared[i].end, stream);
    if (status.ok() && collective)
      status = mark(queue, i, /*ended=*/true);
    if (status.ok() && scheduled.awaited)
      status = driver.cuEventRecord(prepared[i].done, stream);
    if (!status.ok())
      return within(status, i);
  }
  if (commands)
    status = mark(Queue::Compute, commands - 1, /*ended=*/true);
  if (status.ok() && communicates && schedule.endWaitsFor >= 0)
    status = driver.cuStreamWaitEvent(compute,
                                      prepared[schedule.endWaitsFor].done, 0);
  if (status.ok())
    status = driver.cuMemcpyDtoHAsync(const_cast<uint32_t *>(words + 2),
                                      memory + layout.status, sizeof(int32_t),
                                      compute);
  return within(status, commands);
}

Status DeviceRank::capture() {
  const Driver &driver = device.driver();
  CUstream compute = device.stream(Queue::Compute);
  auto named = [&](const Status &status) {
    return status.within("rank " + std::to_string(number) +
                         ", the graph of the step");
  };
  if (Status status = driver.cuStreamBeginCapture(
          compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      !status.ok())
    return named(status);
  if (Status status = queueStep(/*inGraph=*/true); !status.ok())
    return status;
  CUgraph captured = nullptr;
  if (Status status = driver.cuStreamEndCapture(compute, &captured);
      !status.ok())
    return named(status);
  Status status = driver.cuGraphInstantiate(&graph, captured, 0);
  (void)driver.cuGraphDestroy(captured);
  return named(status);
}

Status DeviceRank::step() {
  words[0] = 0;
  words[1] = 0;
  double begin = secondsNow();
  Status status;
  // The libraries' first calls load code and connect, which no capture allows.
  if (stepsRun == 0 || options.trace) {
    status = queueStep(/*inGraph=*/false);
  } else {
    if (!graph)
      status = capture();
    if (status.ok())
      status = device.driver()
                   .cuGraphLaunch(graph, device.stream(Queue::Compute))
                   .within("rank " + std::to_string(number) +
                           ", the graph of the step");
  }
  if (status.ok())
    status = watch(device.stream(Queue::Compute), /*step=*/true);
  if (!status.ok()) {
    device.setFailed();
    return status;
  }
  ++stepsRun;
  transport.progress(number, manifest.program.size());
  if (options.trace)
    readTimes(begin);
  auto mine = int32_t(words[2]), agreed = mine;
  if (!options.skipCollectives)
    if (Status failed =
            transport.agree(number, mine, options.timeoutSeconds, agreed);
        !failed.ok())
      return failed;
  return agreed ? assertFailed(manifest, agreed) : Status();
}

void DeviceRank::readTimes(double begin) {
  for (size_t i = 0; i < prepared.size(); ++i) {
    bool skipped = options.skipCollectives &&
                   schedule.commands[i].queue == Queue::Communication;
    float times[2] = {0, 0};
    const CUevent events[] = {prepared[i].begin, prepared[i].end};
    for (int e = 0; e < 2 && !skipped; ++e)
      (void)device.driver().cuEventElapsedTime(&times[e], start, events[e]);
    commandTimes[i] = {begin + times[0] * 1e-3, begin + times[1] * 1e-3};
  }
}

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
                        " s in " + manifest.describe(here);
  const char *separator = ": ";
  bool collective =
      here >= 0 && schedule.commands[here].queue == Queue::Communication;
  for (int64_t rank = 0; collective && rank < transport.size(); ++rank) {
    if (rank == number || transport.progress(rank) == here)
      continue;
    message += separator + ("rank " + std::to_string(rank)) + " is at " +
               manifest.describe(transport.progress(rank));
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
  const Driver &driver = device.driver();
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
    for (int i = 0; i < 2 && step; ++i)
      if (uint32_t word = words[i]; word != seen[i]) {
        seen[i] = word;
        changed = now;
        transport.progress(number, position());
      }
    constexpr double lookSeconds = 1e-3;
    if (now - looked > lookSeconds) {
      looked = now;
      if (!step)
        transport.alive(number);
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

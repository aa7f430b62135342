//===- DeviceStep.cpp - a step on a device --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Status DeviceRank::mark(Queue queue, int64_t index, bool ended) {
  return device.driver().cuStreamWriteValue32(
      device.stream(queue), wordsSeen + int(queue) * sizeof(uint32_t),
      uint32_t(2 * index + 1 + ended), 0);
}

Status DeviceRank::queueCommand(const Command &command, Prepared &what,
                                CUstream stream) {
  if (const auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    const Launch &launch = kernel->launch;
    return device.driver().cuLaunchKernel(
        what.function, launch.grid[0], launch.grid[1], launch.grid[2],
        launch.block[0], launch.block[1], launch.block[2], launch.sharedBytes,
        stream, what.parameters.data(), nullptr);
  }
  if (std::holds_alternative<GemmCommand>(command.what))
    return products->run(what.product, stream);
  if (what.attention)
    return attentions->run(*what.attention);
  if (const auto *attention = std::get_if<AttentionCommand>(&command.what)) {
    for (size_t i = 0; i < what.steps.size(); ++i)
      if (Status status =
              queueCommand(attention->steps[i], what.steps[i], stream);
          !status.ok())
        return status.within("step " + std::to_string(i));
    return {};
  }
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
    if (Status failed = queueCommand(manifest.program[i], prepared[i], stream);
        !failed.ok())
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
  if (options.trace)
    readTimes(begin);
  return endStep(manifest, transport, number, int32_t(words[2]), options);
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

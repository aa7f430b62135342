//===- DeviceStep.cpp - a step on a device --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/Rank/DeviceCalls.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Cuda/NvtxRange.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Status DeviceRank::mark(Queue queue, int64_t index, bool ended) {
  return gpu.driver().cuStreamWriteValue32(
      gpu.stream(queue), wordsSeen + int(queue) * sizeof(uint32_t),
      uint32_t(2 * index + 1 + ended), 0);
}

Status DeviceRank::queueCommand(const Command &command, Prepared &what,
                                CUstream stream) {
  if (const auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    const Launch &launch = kernel->launch;
    size_t bytes = what.addresses.size() * sizeof(CUdeviceptr);
    void *parameters[] = {
        reinterpret_cast<void *>(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT),
        what.addresses.data(),
        reinterpret_cast<void *>(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT), &bytes,
        reinterpret_cast<void *>(CU_LAUNCH_PARAM_END_AS_INT)};
    return gpu.driver().cuLaunchKernel(
        what.function, launch.grid[0], launch.grid[1], launch.grid[2],
        launch.block[0], launch.block[1], launch.block[2], launch.sharedBytes,
        stream, nullptr, parameters);
  }
  if (std::holds_alternative<GemmCommand>(command.what))
    return gemms->run(what.gemm, stream);
  if (what.attention)
    return attentions->run(*what.attention);
  if (what.call)
    return what.call->run(stream);
  if (const auto *attention = std::get_if<AttentionCommand>(&command.what)) {
    for (size_t i = 0; i < what.steps.size(); ++i)
      if (Status status =
              queueCommand(attention->steps[i], what.steps[i], stream);
          !status.ok())
        return status.within("step " + std::to_string(i));
    return {};
  }
  return unsupported("a collective is not queued by itself");
}

int64_t DeviceRank::launches(const Command &command,
                             const Prepared &what) const {
  if (std::holds_alternative<GemmCommand>(command.what))
    return gemms->calls(what.gemm);
  // A plan of cuDNN's has a few kernels, and so may have a function of the
  // user.
  constexpr int64_t mostOfAPlan = 16;
  if (what.attention || what.call)
    return mostOfAPlan;
  const auto *attention = std::get_if<AttentionCommand>(&command.what);
  if (!attention)
    return 1;
  int64_t sum = 0;
  for (size_t i = 0; i < what.steps.size(); ++i)
    sum += launches(attention->steps[i], what.steps[i]);
  return sum;
}

int64_t DeviceRank::endOfGroup(int64_t first) const {
  int64_t end = first + 1;
  while (end < int64_t(entry.program.size()) && entry.program[end].withPrevious)
    ++end;
  return end;
}

Status DeviceRank::queueCollectives(int64_t first) {
  std::vector<CollectiveCall> calls;
  for (int64_t i = first; i < endOfGroup(first); ++i) {
    const auto &call = std::get<CollectiveCommand>(entry.program[i].what);
    calls.push_back({&call, &entry.collectives[call.collective],
                     reinterpret_cast<const void *>(address(call.input)),
                     reinterpret_cast<void *>(address(call.output))});
  }
  if (calls.size() == 1)
    return transport.collective(number, calls[0], options.timeoutSeconds);
  return transport.collectives(number, calls, options.timeoutSeconds);
}

Status DeviceRank::queueStep(bool inGraph) {
  const Driver &driver = gpu.driver();
  CUstream compute = gpu.stream(Queue::Compute);
  int64_t commands = entry.program.size();
  bool forks = false, forked = false;
  for (int64_t i = 0; i < commands && !options.skipCollectives; ++i)
    forks |= communicates(i);
  Status status;
  if (options.poison)
    status = queuePoison();
  if (status.ok())
    status =
        driver.cuMemsetD8Async(at(layout.status), 0, sizeof(int32_t), compute);
  if (status.ok() && forks)
    status = driver.cuEventRecord(forkPoint, compute);
  if (status.ok() && options.trace)
    status = recordTime(zero, compute, inGraph);
  if (!status.ok())
    return status.within("rank " + std::to_string(number) +
                         ", the start of the step");
  for (int64_t i = 0, next; i < commands; i = next) {
    const Command &command = entry.program[i];
    CUstream stream = gpu.stream(command.queue);
    bool collective = communicates(i);
    next = endOfGroup(i);
    if (collective && options.skipCollectives)
      continue;
    if (!inGraph)
      transport.progress(number, entry.progressAt(i));
    NvtxRange range(prepared[i].name.c_str());
    // The other queue's work of the step before has ended, and a captured
    // stream must come from the one that began the capture.
    if (collective && !std::exchange(forked, true) && !command.waitFor)
      status = driver.cuStreamWaitEvent(stream, forkPoint, 0);
    if (status.ok() && command.waitFor && !options.skipCollectives)
      status =
          driver.cuStreamWaitEvent(stream, prepared[*command.waitFor].done, 0);
    bool marked = !inGraph || collective || prepared[i].done || command.waitFor;
    if (status.ok() && marked)
      status = mark(command.queue, i, /*ended=*/false);
    for (int64_t c = i; c < next && status.ok() && options.trace; ++c)
      status = recordTime(prepared[c].begin, stream, inGraph);
    if (!status.ok())
      return within(status, i);
    if (Status failed = collective ? queueCollectives(i)
                                   : queueCommand(command, prepared[i], stream);
        !failed.ok())
      // A transport's errors say where they happened.
      return collective ? failed : within(failed, i);
    for (int64_t c = i; c < next && status.ok() && options.trace; ++c)
      status = recordTime(prepared[c].end, stream, inGraph);
    if (status.ok() && collective)
      status = mark(command.queue, next - 1, /*ended=*/true);
    for (int64_t c = i; c < next && status.ok(); ++c)
      if (prepared[c].done)
        status = driver.cuEventRecord(prepared[c].done, stream);
    if (!status.ok())
      return within(status, i);
  }
  if (commands)
    status = mark(Queue::Compute, commands - 1, /*ended=*/true);
  if (status.ok() && forks && entry.endWaitsFor)
    status =
        driver.cuStreamWaitEvent(compute, prepared[*entry.endWaitsFor].done, 0);
  if (status.ok())
    status =
        driver.cuMemcpyDtoHAsync(const_cast<uint32_t *>(words + 2),
                                 at(layout.status), sizeof(int32_t), compute);
  return within(status, commands);
}

Status DeviceRank::recordTime(CUevent event, CUstream stream, bool inGraph) {
  const Driver &driver = gpu.driver();
  return inGraph ? driver.cuEventRecordWithFlags(event, stream,
                                                 CU_EVENT_RECORD_EXTERNAL)
                 : driver.cuEventRecord(event, stream);
}

Status DeviceRank::capture() {
  const Driver &driver = gpu.driver();
  CUstream compute = gpu.stream(Queue::Compute);
  auto named = [&](const Status &status) {
    return status.within("rank " + std::to_string(number) +
                         ", the graph of the step");
  };
  if (Status status = driver.cuStreamBeginCapture(
          compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      !status.ok())
    return named(status);
  Status queued = queueStep(/*inGraph=*/true);
  CUgraph captured = nullptr;
  Status ended = driver.cuStreamEndCapture(compute, &captured);
  if (queued.ok() && ended.ok())
    return named(gpu.instantiate(captured, graph));
  // A graph that is left holds the communicators of its collectives.
  if (captured)
    (void)driver.cuGraphDestroy(captured);
  return queued.ok() ? named(ended) : queued;
}

Status DeviceRank::follow(CUstream stream) {
  Status status = gpu.checkStream(stream);
  if (status.ok())
    status = gpu.driver().cuEventRecord(before, stream);
  if (status.ok())
    status =
        gpu.driver().cuStreamWaitEvent(gpu.stream(Queue::Compute), before, 0);
  return status.within("rank " + std::to_string(number));
}

Status DeviceRank::precede(CUstream stream) {
  Status status = gpu.driver().cuEventRecord(after, gpu.stream(Queue::Compute));
  if (status.ok())
    status = gpu.driver().cuStreamWaitEvent(stream, after, 0);
  return status.within("rank " + std::to_string(number));
}

Status DeviceRank::start(std::optional<ExternalStream> stream) {
  if (Status status = usable(); !status.ok())
    return status;
  // A step that does not begin has the status of one that another rank ended.
  notBegun = transport.checkRunning();
  if (!notBegun.ok())
    return {};
  Device::Current current(gpu);
  if (!stream)
    stream = options.device.stream;
  auto *given = static_cast<CUstream>(stream ? stream->handle : nullptr);
  if (stream)
    if (Status status = gpu.checkStream(given); !status.ok())
      return status.within("rank " + std::to_string(number));
  words[0] = 0;
  words[1] = 0;
  begun = secondsNow();
  follows = stream.has_value();
  Status status;
  // The libraries' first calls load code and connect, which no capture allows.
  bool inGraph = stepsRun > 0;
  if (inGraph && !graph)
    status = capture();
  if (status.ok() && stream)
    status = follow(given);
  NvtxRange range(inGraph ? "the graph of the step" : "");
  if (status.ok() && !inGraph)
    status = queueStep(/*inGraph=*/false);
  else if (status.ok())
    status = gpu.driver()
                 .cuGraphLaunch(graph, gpu.stream(Queue::Compute))
                 .within("rank " + std::to_string(number) +
                         ", the graph of the step");
  if (status.ok() && stream)
    status = precede(given);
  // The others wait for this rank's collectives.
  if (!status.ok())
    abort(status);
  return status;
}

Status DeviceRank::finish() {
  if (Status status = usable(); !status.ok())
    return status;
  if (!notBegun.ok())
    return notBegun;
  Device::Current current(gpu);
  Status status = watch(gpu.stream(Queue::Compute), /*step=*/true);
  if (!status.ok())
    return failed(status);
  ++stepsRun;
  if (options.trace)
    if (Status status = readTimes(begun); !status.ok())
      return status;
  return agree(int32_t(words[2]), int64_t(entry.program.size()));
}

Status DeviceRank::readTimes(double begin) {
  for (size_t i = 0; i < prepared.size(); ++i) {
    bool skipped = options.skipCollectives && communicates(i);
    float times[2] = {0, 0};
    const CUevent events[] = {prepared[i].begin, prepared[i].end};
    for (int e = 0; e < 2 && !skipped; ++e)
      if (Status status =
              gpu.driver().cuEventElapsedTime(&times[e], zero, events[e]);
          !status.ok())
        return within(status, i);
    commandTimes[i] = {begin + times[0] * 1e-3, begin + times[1] * 1e-3};
  }
  return {};
}

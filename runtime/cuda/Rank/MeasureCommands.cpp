//===- MeasureCommands.cpp - what each command takes on a device ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data is made cold by copying a region twice as large as the second-level
// cache piece by piece onto one small place: the cache is then full of lines
// that only were read. A fill would leave it full of lines that the timed
// command has to write back.
//
//===----------------------------------------------------------------------===//

#include "cuda/Device/QueueClock.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>
#include <functional>
#include <map>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace tp::runtime::cuda {

/// Times what is queued on a rank's compute stream.
class CommandClock {
public:
  explicit CommandClock(DeviceRank &rank)
      : rank(rank), driver(rank.gpu.driver()),
        stream(rank.gpu.stream(Queue::Compute)),
        clock(rank.gpu, stream,
              [this] { return this->rank.watch(stream, /*step=*/true); }) {}

  Status prepare(StepTimes &times);
  /// Runs everything once that is going to be timed.
  Status warmUp();
  /// Seconds of `work`, with the cache full of something else if `cold`.
  Status time(const std::function<Status()> &work, int64_t launches, bool cold,
              double &seconds);
  /// The median of `rounds` copies of half of `bytes`.
  Status timeCopy(int64_t bytes, int64_t rounds, double &seconds);
  /// Every command of a step behind the one before: seconds of each.
  Status timeStep(std::vector<double> &seconds);
  Status queue(int64_t command) {
    return rank.within(rank.queueCommand(rank.entry.program[command],
                                         rank.prepared[command], stream),
                       command);
  }
  /// How many launches `queue` makes.
  int64_t launches(int64_t command) const {
    return rank.launches(rank.entry.program[command], rank.prepared[command]);
  }
  Status launchGraph() { return driver.cuGraphLaunch(rank.graph, stream); }
  bool isLeftOut(int64_t command) const { return rank.communicates(command); }

private:
  Status fillCache();
  Status copy(int64_t bytes) {
    return driver.cuMemcpyDtoDAsync(copyTo, copyFrom,
                                    std::max<int64_t>(bytes / 2, 1), stream);
  }

  DeviceRank &rank;
  const Driver &driver;
  CUstream stream;
  QueueClock clock;
  /// Of a step, two for each command.
  std::vector<CUevent> events;
  /// What is read to fill the cache, in pieces.
  CUdeviceptr filler = 0;
  int64_t pieces = 0, pieceBytes = 0;
  CUdeviceptr copyFrom = 0, copyTo = 0;
};

} // namespace tp::runtime::cuda

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status CommandClock::prepare(StepTimes &times) {
  Device &gpu = rank.gpu;
  int cacheBytes = 0;
  Status status = gpu.cacheBytes(cacheBytes);
  if (status.ok())
    status = driver.cuDriverGetVersion(&times.driverVersion);
  if (status.ok())
    status = clock.prepare();
  if (!status.ok())
    return status;
  constexpr int64_t mostPieces = 128;
  constexpr int64_t leastPiece = 256 * 1024;
  pieceBytes = std::max<int64_t>(2 * int64_t(cacheBytes) / mostPieces, //
                                 leastPiece);
  pieces = (2 * int64_t(cacheBytes) + pieceBytes - 1) / pieceBytes;
  int64_t copied = 8 * int64_t(cacheBytes);
  times.copiedBytes = copied;
  for (const Command &command : rank.entry.program)
    if (const auto *kernel = std::get_if<KernelCommand>(&command.what))
      copied = std::max(copied, kernel->launch.bytes);
  status = gpu.allocate((pieces + 1) * pieceBytes, filler);
  for (CUdeviceptr *side : {&copyFrom, &copyTo})
    if (status.ok())
      status = gpu.allocate(copied / 2 + 1, *side);
  events.resize(2 * std::max<size_t>(rank.entry.program.size(), 1));
  for (CUevent &event : events)
    if (status.ok())
      status = gpu.createEvent(/*timed=*/true, event);
  times.cacheBytes = cacheBytes;
  times.device = gpu.describe();
  return status;
}

Status CommandClock::fillCache() {
  Status status;
  for (int64_t i = 0; i < pieces && status.ok(); ++i)
    status =
        driver.cuMemcpyDtoDAsync(filler + pieces * pieceBytes,
                                 filler + i * pieceBytes, pieceBytes, stream);
  return status;
}

Status CommandClock::warmUp() {
  return clock.warmUp([&] {
    Status status = fillCache();
    if (status.ok())
      status = copy(/*bytes=*/0);
    int64_t commands = rank.entry.program.size();
    for (int64_t i = 0; i < commands && status.ok(); ++i)
      if (!isLeftOut(i)) {
        status = rank.mark(Queue::Compute, i, /*ended=*/false);
        if (status.ok())
          status = queue(i);
      }
    return status.ok() ? launchGraph() : status;
  });
}

Status CommandClock::time(const std::function<Status()> &work, int64_t launches,
                          bool cold, double &seconds) {
  return clock.time([&] { return cold ? fillCache() : Status(); }, work,
                    launches, seconds);
}

Status CommandClock::timeCopy(int64_t bytes, int64_t rounds, double &seconds) {
  std::vector<double> all(rounds);
  for (double &one : all)
    if (Status status = time([&] { return copy(bytes); }, /*launches=*/1,
                             /*cold=*/true, one);
        !status.ok())
      return status;
  seconds = median(all);
  return {};
}

Status CommandClock::timeStep(std::vector<double> &seconds) {
  int64_t commands = rank.entry.program.size();
  Status status = clock.close();
  int64_t queued = 0;
  for (int64_t i = 0; i < commands && status.ok(); ++i) {
    if (isLeftOut(i))
      continue;
    // Its mark and two events, too. The host is ahead of the device by then.
    int64_t more = 3 + launches(i);
    if (queued <= QueueClock::mostQueued &&
        queued + more > QueueClock::mostQueued)
      clock.open();
    queued += more;
    // For messages; between the commands' events.
    status = rank.mark(Queue::Compute, i, /*ended=*/false);
    if (status.ok())
      status = driver.cuEventRecord(events[2 * i], stream);
    if (status.ok())
      status = queue(i);
    if (status.ok())
      status = driver.cuEventRecord(events[2 * i + 1], stream);
  }
  status = clock.finish(status);
  for (int64_t i = 0; i < commands && status.ok(); ++i) {
    float milliseconds = 0;
    if (!isLeftOut(i))
      status = driver.cuEventElapsedTime(&milliseconds, events[2 * i],
                                         events[2 * i + 1]);
    seconds[i] = milliseconds * 1e-3;
  }
  return status;
}

Status DeviceRank::measureCommands(int64_t rounds, StepTimes &times) {
  if (Status status = usable(); !status.ok())
    return status;
  Device::Current current(gpu);
  size_t commands = entry.program.size();
  CommandClock clock(*this);
  times.rounds = rounds;
  times.commands.resize(commands);
  // By command, then by round.
  std::vector<std::vector<double>> cold(commands), inStep(commands);
  std::vector<double> graphs, step(commands);
  Status status = clock.prepare(times);
  if (status.ok() && !graph)
    status = capture();
  if (status.ok())
    status = clock.warmUp();
  for (int64_t round = 0; round < rounds && status.ok(); ++round) {
    for (size_t i = 0; i < commands && status.ok(); ++i) {
      double seconds = 0;
      if (!clock.isLeftOut(i)) {
        // For messages; outside of what is timed.
        status = mark(Queue::Compute, i, /*ended=*/false);
        if (status.ok())
          status = clock.time([&] { return clock.queue(i); }, clock.launches(i),
                              /*cold=*/true, seconds);
      }
      cold[i].push_back(seconds);
    }
    if (status.ok())
      status = clock.timeStep(step);
    for (size_t i = 0; i < commands; ++i)
      inStep[i].push_back(step[i]);
  }
  // One after the other, as steps follow each other: the device is as warm as
  // they make it.
  for (int64_t round = 0; round < rounds && status.ok(); ++round) {
    double seconds = 0;
    status = clock.time([&] { return clock.launchGraph(); }, /*launches=*/1,
                        /*cold=*/false, seconds);
    graphs.push_back(seconds);
  }
  if (status.ok())
    status = clock.timeCopy(times.copiedBytes, rounds, times.copied);
  std::map<int64_t, double> copies;
  for (size_t i = 0; i < commands && status.ok(); ++i) {
    times.commands[i] = {median(cold[i]),
                         *std::min_element(cold[i].begin(), cold[i].end()),
                         median(inStep[i])};
    const auto *kernel = std::get_if<KernelCommand>(&entry.program[i].what);
    if (!kernel || kernel->launch.bytes == 0)
      continue;
    auto [copy, isNew] = copies.try_emplace(kernel->launch.bytes);
    if (isNew)
      status = clock.timeCopy(copy->first, rounds, copy->second);
    times.commands[i].copy = copy->second;
  }
  if (!status.ok())
    return failed(status.within("rank " + std::to_string(number)));
  times.graph = median(graphs);
  return {};
}

//===- TimeGemms.cpp - a rank's memory while GEMMs are timed --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/Device/QueueClock.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

GemmTiming DeviceRank::gemmTiming() {
  return {
      [this](const GemmTiming::Work &work) {
        Status status = prepareClock();
        return status.ok() ? clock->warmUp(work) : status;
      },
      [this](const GemmTiming::Work &work, int64_t launches, double &seconds) {
        transport.heartbeat(number);
        return clock->time([this] { return fillCache(); }, work, launches,
                           seconds);
      },
      [this] {
        transport.heartbeat(number);
        return !transport.aborted();
      }};
}

Status DeviceRank::prepareClock() {
  CUstream stream = gpu.stream(Queue::Compute);
  transport.heartbeat(number);
  if (clock)
    return {};
  clock = std::make_unique<QueueClock>(
      gpu, stream, [this, stream] { return watch(stream, /*step=*/true); });
  Status status = clock->prepare();
  return status.ok() ? clock->warmUp([this] { return fillCache(); }) : status;
}

Status DeviceRank::fillCache() {
  int cacheBytes = 0;
  Status status = gpu.cacheBytes(cacheBytes);
  // The rank's own memory, read piece by piece onto the workspace's start,
  // fills the cache; a rank that has little leaves some of it warm.
  constexpr int64_t pieces = 64;
  bool forCollectives = layout.collectiveBytes > layout.workspace.offset;
  CUdeviceptr memory = at({forCollectives, 0});
  int64_t bytes = std::min(forCollectives ? layout.collectiveBytes
                                          : layout.workspace.offset,
                           2 * int64_t(cacheBytes));
  int64_t piece = std::min(bytes / pieces, CublasLtGemms::workspaceBytes);
  for (int64_t i = 0; i < pieces && piece > 0 && status.ok(); ++i)
    status =
        gpu.driver().cuMemcpyDtoDAsync(at(layout.workspace), memory + i * piece,
                                       piece, gpu.stream(Queue::Compute));
  return status;
}

Status DeviceRank::clearAfterTiming() {
  CUstream stream = gpu.stream(Queue::Compute);
  Status status;
  auto clear = [&](Place place, int64_t bytes) {
    if (status.ok() && bytes > 0)
      status =
          gpu.driver().cuMemsetD8Async(at(place), 0, size_t(bytes), stream);
  };
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    clear(layout.arguments[i], entry.arguments[i].localBytes());
  for (size_t i = 0; i < entry.results.size(); ++i)
    clear(layout.results[i], entry.results[i].localBytes());
  clear(layout.arena, entry.memory.arenaBytes);
  if (status.ok())
    status = watch(stream, /*step=*/false);
  return status;
}

//===- DeviceMemory.cpp - a rank's memory on a device ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

static constexpr int64_t deviceAlignment = 256;

DeviceRank::Layout::Layout(const Manifest &manifest, int64_t constantBytes) {
  auto take = [&](int64_t size) {
    int64_t offset = bytes;
    bytes += (size + deviceAlignment - 1) / deviceAlignment * deviceAlignment;
    return offset;
  };
  for (const Port &port : manifest.arguments)
    arguments.push_back(take(port.localBytes()));
  for (const Port &port : manifest.results)
    results.push_back(take(port.localBytes()));
  constants = take(constantBytes);
  arena = take(manifest.memory.arenaBytes);
  scratch = take(manifest.memory.scratchBytes);
  context = take(sizeof(tp_kernel_context));
  status = take(sizeof(int32_t));
  bool multiplies = false;
  manifest.forEachCommand([&](const Command &command, int64_t) {
    multiplies |= std::holds_alternative<GemmCommand>(command.what);
  });
  workspace = take(multiplies ? Products::workspaceBytes : 0);
}

CUdeviceptr DeviceRank::address(const BufferRef &buffer) const {
  switch (buffer.space) {
  case Space::Argument:
    return memory + layout.arguments[buffer.index] + buffer.offset;
  case Space::Result:
    return memory + layout.results[buffer.index] + buffer.offset;
  case Space::Arena:
    return memory + layout.arena + buffer.offset;
  case Space::Constant:
    return memory + layout.constants + buffer.offset;
  }
  return 0;
}

Status DeviceRank::load(
    int64_t argument,
    const std::function<void(const Port &slice, char *buffer)> &fill) {
  int next = 0;
  bool used[2] = {false, false};
  CUstream stream = device.stream(Queue::Compute);
  Status status = forEachSlice(
      manifest.arguments[argument], number, stagingBytes,
      [&](const Port &slice, int64_t offset) -> Status {
        // The copy out of this buffer, two slices ago, must have ended.
        int turn = std::exchange(next, 1 - next);
        while (used[turn]) {
          int code = device.driver().cuEventQuery.code(staged[turn]);
          if (code == CUDA_SUCCESS)
            break;
          if (code != CUDA_ERROR_NOT_READY)
            return device.driver().cuEventQuery.failed(code);
          if (transport.aborted())
            return {Code::RankFailed, transport.failure()->message};
        }
        used[turn] = true;
        std::memset(staging[turn], 0, slice.localBytes());
        fill(slice, staging[turn]);
        Status queued = device.driver().cuMemcpyHtoDAsync(
            memory + layout.arguments[argument] + offset, staging[turn],
            slice.localBytes(), stream);
        if (queued.ok())
          queued = device.driver().cuEventRecord(staged[turn], stream);
        return queued;
      });
  if (status.ok())
    status = watch(stream, /*step=*/false);
  if (!status.ok())
    device.setFailed();
  return status.within("rank " + std::to_string(number) + ", argument '" +
                       manifest.arguments[argument].name + "'");
}

Status DeviceRank::fetchResults() {
  RankMemory host(manifest);
  CUstream stream = device.stream(Queue::Compute);
  Status status;
  for (size_t i = 0; i < manifest.results.size() && status.ok(); ++i)
    if (int64_t bytes = manifest.results[i].localBytes())
      status = device.driver().cuMemcpyDtoHAsync(
          transport.memory(number) + host.results[i],
          memory + layout.results[i], bytes, stream);
  if (status.ok())
    status = watch(stream, /*step=*/false);
  if (!status.ok())
    device.setFailed();
  return status.within("rank " + std::to_string(number) + ", its results");
}

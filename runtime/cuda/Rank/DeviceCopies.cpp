//===- DeviceCopies.cpp - tensors to and from a device --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Slices.h"
#include <cstring>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// A port's whole local tensor, padding included, as the array that is sliced.
static RankSlice wholeTensor(const Port &port) {
  RankSlice slice;
  slice.dtype = port.dtype;
  slice.shape = slice.localShape = port.localShape();
  slice.permutation = port.permutation;
  std::vector<int64_t> origin(slice.shape.size());
  slice.boxes.push_back({origin, origin, slice.shape});
  return slice;
}

Status DeviceRank::upload(const RankSlice &whole, CUdeviceptr to,
                          const Fill &fill) {
  int next = 0;
  bool used[2] = {false, false};
  CUstream stream = gpu.stream(Queue::Compute);
  Status status = forEachSlice(
      whole, stagingBytes,
      [&](const RankSlice &slice, int64_t offset) -> Status {
        // The copy out of this buffer, two slices ago, must have ended.
        int turn = std::exchange(next, 1 - next);
        while (used[turn]) {
          int code = gpu.driver().cuEventQuery.code(staged[turn]);
          if (code == CUDA_SUCCESS)
            break;
          if (code != CUDA_ERROR_NOT_READY)
            return gpu.driver().cuEventQuery.failed(code);
          if (transport.aborted())
            return {Code::RankFailed, transport.failure()->message};
        }
        used[turn] = true;
        std::memset(staging[turn], 0, slice.localBytes());
        fill(slice, staging[turn]);
        Status queued = gpu.driver().cuMemcpyHtoDAsync(
            to + offset, staging[turn], slice.localBytes(), stream);
        if (queued.ok())
          queued = gpu.driver().cuEventRecord(staged[turn], stream);
        return queued;
      });
  return status.ok() ? watch(stream, /*step=*/false) : status;
}

Status DeviceRank::download(const RankSlice &whole, CUdeviceptr from,
                            const LocalTensor &to) {
  CUstream stream = gpu.stream(Queue::Compute);
  return forEachSlice(whole, stagingBytes,
                      [&](const RankSlice &slice, int64_t offset) -> Status {
                        Status status = gpu.driver().cuMemcpyDtoHAsync(
                            staging[0], from + offset, slice.localBytes(),
                            stream);
                        if (status.ok())
                          status = watch(stream, /*step=*/false);
                        if (status.ok())
                          assemble(slice, staging[0], to.data, to.strides);
                        return status;
                      });
}

Status DeviceRank::copyTensor(const std::vector<int64_t> &sizes,
                              int64_t elementBytes, CUdeviceptr from,
                              const std::vector<int64_t> &fromStrides,
                              CUdeviceptr to,
                              const std::vector<int64_t> &toStrides) {
  CUstream stream = gpu.stream(Queue::Compute);
  Status status;
  forEachRows(sizes, elementBytes, fromStrides, toStrides,
              [&](const StridedRows &rows) {
                if (!status.ok())
                  return;
                CUDA_MEMCPY2D copy = {};
                copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                copy.srcDevice = from + rows.source;
                copy.srcPitch = size_t(rows.sourcePitch);
                copy.dstDevice = to + rows.target;
                copy.dstPitch = size_t(rows.targetPitch);
                copy.WidthInBytes = size_t(rows.bytes);
                copy.Height = size_t(rows.count);
                status = rows.count == 1
                             ? gpu.driver().cuMemcpyDtoDAsync(
                                   copy.dstDevice, copy.srcDevice,
                                   copy.WidthInBytes, stream)
                             : gpu.driver().cuMemcpy2DAsync(&copy, stream);
              });
  return status.ok() ? watch(stream, /*step=*/false) : status;
}

Status DeviceRank::checkTensor(const LocalTensor &tensor) const {
  if (tensor.space == MemorySpace::Host)
    return {};
  if (tensor.device != gpu.number())
    return invalidArgument("it is on device " + std::to_string(tensor.device) +
                           ", the rank uses device " +
                           std::to_string(gpu.number()) +
                           ": expected a tensor there, or on the host");
  return gpu.checkMemory(CUdeviceptr(tensor.data));
}

Status DeviceRank::beginCopy(const LocalTensor &tensor) {
  Status status = checkTensor(tensor);
  if (status.ok() && options.device.stream)
    status = follow(static_cast<CUstream>(options.device.stream->handle));
  return status;
}

Status DeviceRank::load(int64_t index, const Fill &fill) {
  if (Status status = usable(); !status.ok())
    return status;
  Device::Current current(gpu);
  heartbeat();
  Status status =
      upload(entry.arguments[index].slice(entry.coordinates(number)),
             at(layout.arguments[index]), fill);
  if (status.ok())
    restored(index);
  return failed(status.within("rank " + std::to_string(number) +
                              ", argument '" + entry.arguments[index].name +
                              "'"));
}

Status DeviceRank::write(int64_t index, const LocalTensor &from) {
  const Port &port = entry.arguments[index];
  Status status = usable();
  if (!status.ok() || port.localBytes() == 0)
    return status;
  Device::Current current(gpu);
  if (status = beginCopy(from); !status.ok())
    return status;
  CUdeviceptr to = at(layout.arguments[index]);
  status = from.space == MemorySpace::Device
               ? copyTensor(port.localShape(), byteSize(port.dtype),
                            CUdeviceptr(from.data), from.strides, to,
                            port.localStrides())
               : upload(wholeTensor(port), to,
                        [&](const RankSlice &slice, char *buffer) {
                          scatter(slice, from.data, from.strides, buffer);
                        });
  if (status.ok())
    restored(index);
  return failed(status.within("rank " + std::to_string(number)));
}

Status DeviceRank::read(PortSide side, int64_t index, const LocalTensor &to) {
  bool isResult = side == PortSide::Result;
  const Port &port = isResult ? entry.results[index] : entry.arguments[index];
  Status status = usable();
  if (!status.ok() || port.localBytes() == 0)
    return status;
  Device::Current current(gpu);
  if (status = beginCopy(to); !status.ok())
    return status;
  CUdeviceptr from =
      at(isResult ? layout.results[index] : layout.arguments[index]);
  status =
      to.space == MemorySpace::Device
          ? copyTensor(port.localShape(), byteSize(port.dtype), from,
                       port.localStrides(), CUdeviceptr(to.data), to.strides)
          : download(wholeTensor(port), from, to);
  return failed(status.within("rank " + std::to_string(number)));
}

Status DeviceRank::fetchResults() {
  if (Status status = usable(); !status.ok())
    return status;
  Device::Current current(gpu);
  RankMemory host(entry);
  CUstream stream = gpu.stream(Queue::Compute);
  Status status;
  for (size_t i = 0; i < entry.results.size() && status.ok(); ++i)
    if (int64_t bytes = entry.results[i].localBytes())
      status = gpu.driver().cuMemcpyDtoHAsync(
          transport.memory(number) + host.results[i], at(layout.results[i]),
          bytes, stream);
  if (status.ok())
    status = watch(stream, /*step=*/false);
  return failed(
      status.within("rank " + std::to_string(number) + ", its results"));
}

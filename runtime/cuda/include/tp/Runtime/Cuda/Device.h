//===- Device.h - a device and its queues -----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DEVICE_H
#define TP_RUNTIME_CUDA_DEVICE_H

#include "tp/Runtime/Cuda/Libraries.h"
#include "tp/Runtime/Cuda/QueueSchedule.h"
#include <cstdint>
#include <functional>

namespace tp::runtime::cuda {

/// One device as one rank uses it: its primary context, current in the thread
/// that opened it, and a stream per queue. One thread uses it.
///
/// Nothing is given back to the driver after a failure (`failed`): a call on a
/// device that hangs would hang too, and the process is about to end.
class Device {
public:
  /// The rank of this number on its host uses the device of this number, modulo
  /// theirs.
  static Status open(int64_t localRank, std::unique_ptr<Device> &device);
  ~Device();
  Device(const Device &) = delete;

  const Driver &driver() const { return *library; }
  CUstream stream(Queue queue) const { return streams[int(queue)]; }
  /// "device 1 'NVIDIA H200' (sm_90)"
  std::string describe() const;
  const std::string &name() const { return deviceName; }
  int major() const { return capability[0]; }
  int minor() const { return capability[1]; }
  /// "sm_90"; "host" of a driver that runs kernels on the CPU, whose devices
  /// have the compute capability 0.0.
  std::string chip() const;
  /// Of the second-level cache.
  Status cacheBytes(int &bytes) const;

  /// Memory that lives as long as the device. Errors report the free memory.
  Status allocate(int64_t bytes, CUdeviceptr &memory);
  /// Pinned host memory; `seen` is its address on the device.
  Status allocateHost(int64_t bytes, void *&memory, CUdeviceptr &seen);
  Status createEvent(bool timed, CUevent &event);
  /// What was captured, ready to be launched; `captured` is destroyed.
  Status instantiate(CUgraph captured, CUgraphExec &graph);
  /// Destroys all of these, each when it does not run any more. To be called
  /// once, by any thread, even after the device has gone.
  std::function<void()> destroyGraphs();

  void setFailed() { hasFailed = true; }
  bool failed() const { return hasFailed; }

private:
  Device() = default;

  std::unique_ptr<Driver> library;
  CUdevice handle = 0;
  int ordinal = 0;
  std::string deviceName;
  int capability[2] = {0, 0};
  CUcontext context = nullptr;
  CUstream streams[2] = {nullptr, nullptr};
  std::vector<CUdeviceptr> memories;
  std::vector<void *> hostMemories;
  std::vector<CUevent> events;
  std::vector<CUgraphExec> graphs;
  bool hasFailed = false;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_DEVICE_H

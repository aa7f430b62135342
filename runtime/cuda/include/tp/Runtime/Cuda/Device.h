//===- Device.h - a device and its queues -----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DEVICE_H
#define TP_RUNTIME_CUDA_DEVICE_H

#include "tp/Runtime/Commands.h"
#include "tp/Runtime/Cuda/Libraries.h"
#include <cstdint>
#include <functional>

namespace tp::runtime::cuda {

/// One device as one rank uses it: its primary context and a stream per queue.
/// One thread at a time uses it, with the context current (`Current`).
///
/// Nothing is given back to the driver after a failure (`failed`): a call on a
/// device that hangs would hang too, and the process is about to end.
class Device {
public:
  /// The device of this number; with `modulo`, modulo the number of devices.
  static Status open(int64_t index, bool modulo,
                     std::unique_ptr<Device> &device);
  ~Device();
  Device(const Device &) = delete;

  /// While it lives, the context is the thread's current one; then the one that
  /// the host program had is again. Does nothing after a failure.
  class Current {
  public:
    explicit Current(const Device &device);
    ~Current();
    Current(const Current &) = delete;

  private:
    const Driver *driver = nullptr;
  };

  const Driver &driver() const { return *library; }
  int64_t number() const { return ordinal; }
  CUstream stream(Queue queue) const { return streams[int(queue)]; }
  /// "device 1 'NVIDIA H200' (sm_90)"
  std::string describe() const;
  const std::string &name() const { return deviceName; }
  int major() const { return capability[0]; }
  int minor() const { return capability[1]; }
  /// "sm_90"; "host" of a driver that runs kernels on the CPU, whose devices
  /// have the compute capability 0.0.
  std::string chip() const;
  /// An error unless work of this device may be ordered with the stream.
  Status checkStream(CUstream stream) const;
  /// An error unless the address is one of this device's memory.
  Status checkMemory(CUdeviceptr address) const;
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

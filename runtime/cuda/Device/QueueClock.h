//===- QueueClock.h - what work on a queue takes ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_DEVICE_QUEUECLOCK_H
#define TP_RUNTIME_CUDA_DEVICE_QUEUECLOCK_H

#include "tp/Runtime/Cuda/Device.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tp::runtime::cuda {

/// A kernel of a few microseconds is shorter than it takes to launch it. So
/// what is timed waits, together with the events around it, behind a word in
/// host memory until all of it has been queued: between the events the device
/// waits for nothing.
///
/// Nothing may run for the first time behind a closed gate. A first launch
/// loads its code, and that waits until the device has nothing left to do: the
/// device would wait for the host, and the host for the device. So everything
/// that is timed runs once through `warmUp` before. The host also waits where
/// the queue of launches is full, and in every call under
/// CUDA_LAUNCH_BLOCKING=1 and tools that run one launch at a time
/// (compute-sanitizer): a gate that has been closed for some seconds opens by
/// itself, and none is closed after it.
class QueueClock {
public:
  /// What may be queued behind a closed gate; the driver's queue has room for
  /// about a thousand launches.
  static constexpr int64_t mostQueued = 600;

  /// `wait` returns when the stream has run everything.
  QueueClock(Device &device, CUstream stream, std::function<Status()> wait)
      : device(device), stream(stream), wait(std::move(wait)) {}
  ~QueueClock();
  Status prepare();

  /// Runs what is going to be timed, without a gate.
  Status warmUp(const std::function<Status()> &work);
  /// The device waits from here on until `open`.
  Status close();
  void open();
  /// Opens and waits. Not opening after an error would leave the device
  /// waiting.
  Status finish(Status status);
  /// Seconds that `work` takes behind `before`, which may be empty. `work`
  /// queues `launches`: more than fit are queued while the device runs.
  Status time(const std::function<Status()> &before,
              const std::function<Status()> &work, int64_t launches,
              double &seconds);

private:
  void openWhatStaysClosed();

  Device &device;
  CUstream stream;
  std::function<Status()> wait;
  volatile uint32_t *gate = nullptr;
  CUdeviceptr gateSeen = 0;
  uint32_t turn = 0;
  std::mutex mutex;
  /// The gate is closed; it had to open by itself; the clock is not needed.
  bool closed = false, serialized = false, ended = false;
  std::condition_variable ending;
  std::thread opener;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_DEVICE_QUEUECLOCK_H

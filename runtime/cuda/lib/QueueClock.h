//===- QueueClock.h - what work on a queue takes ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_LIB_QUEUECLOCK_H
#define TP_RUNTIME_CUDA_LIB_QUEUECLOCK_H

#include "tp/Runtime/Cuda/Device.h"
#include <functional>

namespace tp::runtime::cuda {

/// A kernel of a few microseconds is shorter than it takes to launch it. So
/// what is timed waits, together with the events around it, behind a word in
/// host memory until all of it has been queued: between the events the device
/// waits for nothing.
class QueueClock {
public:
  /// `wait` returns when the stream has run everything.
  QueueClock(Device &device, CUstream stream, std::function<Status()> wait)
      : device(device), stream(stream), wait(std::move(wait)) {}
  Status prepare();

  /// The device waits from here on until `open`.
  Status close();
  void open() { *gate = turn; }
  /// Opens and waits. Not opening after an error would leave the device
  /// waiting.
  Status finish(Status status);
  /// Seconds that `work` takes behind `before`, which may be empty.
  Status time(const std::function<Status()> &before,
              const std::function<Status()> &work, double &seconds);

private:
  Device &device;
  CUstream stream;
  std::function<Status()> wait;
  volatile uint32_t *gate = nullptr;
  CUdeviceptr gateSeen = 0;
  uint32_t turn = 0;
  CUevent begin = nullptr, end = nullptr;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_LIB_QUEUECLOCK_H

//===- DeviceCalls.h - functions of users on a device -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_RANK_DEVICECALLS_H
#define TP_RUNTIME_CUDA_RANK_DEVICECALLS_H

#include "tp/Runtime/Commands.h"
#include "tp/Runtime/Cuda/DriverApi.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include <functional>

namespace tp::runtime::cuda {

/// One rank's call of a function that the user has linked.
class DeviceCall {
public:
  /// Where the buffers of a rank are.
  using AddressOf = std::function<CUdeviceptr(const BufferRef &buffer)>;

  /// Finds the function. `command` outlives the call.
  Status prepare(const CallCommand &command, const Coordinates &rank,
                 int device, const AddressOf &addressOf);
  /// Lets the function put its work into the stream.
  Status run(CUstream stream);

private:
  tp_op function = nullptr;
  LinkedCall call;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_RANK_DEVICECALLS_H

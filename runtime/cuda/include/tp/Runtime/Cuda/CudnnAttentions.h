//===- CudnnAttentions.h - attention by cuDNN -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_CUDNNATTENTIONS_H
#define TP_RUNTIME_CUDA_CUDNNATTENTIONS_H

#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Manifest.h"
#include <map>
#include <optional>

namespace tp::runtime::cuda {

class AttentionPlan;

/// Addresses of an attention's operands; `bias` is 0 if it has none.
struct AttentionAddresses {
  CUdeviceptr q = 0, k = 0, v = 0, o = 0, bias = 0;
};

/// The attentions of one rank's program that cuDNN runs; other attentions run
/// as their steps. Without cuDNN all of them do, also if TP_CUDNN is `off`, and
/// on a device that is the host unless TP_CUDNN names a library.
class CudnnAttentions {
public:
  CudnnAttentions(Device &device, CUstream stream);
  ~CudnnAttentions();

  /// Plans `attention` with its operands at these addresses. `number`
  /// identifies it to `run`; it is empty if its steps have to run, for the
  /// reason in `reason`.
  Status prepare(const AttentionCommand &attention,
                 const AttentionAddresses &addresses,
                 std::optional<size_t> &number, std::string &reason);
  /// Allocates their common workspace, after the last `prepare`.
  Status finish();
  /// Queues it in the stream; allocates nothing.
  Status run(size_t number) const;

private:
  struct Call {
    AttentionPlan *plan = nullptr;
    AttentionAddresses addresses;
    cudnnBackendDescriptor_t bound = nullptr;
  };

  Status open();

  Device &device;
  CUstream stream;
  bool opened = false;
  /// Why there is no library, if there is none.
  std::string absent;
  std::unique_ptr<Cudnn> library;
  cudnnHandle_t handle = nullptr;
  /// By form: a model repeats few many times.
  struct Form {
    std::unique_ptr<AttentionPlan> plan;
    /// Why there is none.
    std::string reason;
  };
  std::map<std::string, Form> forms;
  std::vector<Call> calls;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_CUDNNATTENTIONS_H

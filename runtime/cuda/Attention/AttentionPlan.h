//===- AttentionPlan.h - an attention as cuDNN runs it ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_ATTENTION_ATTENTIONPLAN_H
#define TP_RUNTIME_CUDA_ATTENTION_ATTENTIONPLAN_H

#include "CudnnDescriptors.h"
#include "tp/Runtime/Cuda/CudnnAttentions.h"
#include <memory>

namespace tp::runtime::cuda {

/// Empty, or why cuDNN of that version is not asked to run `attention`: it
/// lacks it, or what it would give is not known to be what the manifest says.
/// Some of these forms it would crash on.
std::string reasonAgainstCudnn(const AttentionCommand &attention,
                               const AttentionAddresses &addresses,
                               size_t version);

/// All that a plan depends on.
std::string formOf(const AttentionCommand &attention);

/// A plan for one form of attention, whatever its addresses are. Making one
/// compiles code, which takes a second or two.
class AttentionPlan {
public:
  /// For the device of `handle`; where that is null, for the one that
  /// `properties` describe in JSON, as cuDNN writes them. `reason` says why
  /// there is no plan where the library has none for this form; it is empty
  /// where there is one.
  static Status create(const Cudnn &library, cudnnHandle_t handle,
                       const std::string &properties,
                       const AttentionCommand &attention,
                       std::unique_ptr<AttentionPlan> &plan,
                       std::string &reason);

  /// In bytes, on the device.
  int64_t workspaceBytes() const { return workspace; }
  /// What `run` takes, for these addresses: made once for each.
  Status bind(const AttentionAddresses &addresses, CUdeviceptr workspace,
              cudnnBackendDescriptor_t &bound);
  /// Queues it in the stream of `handle`.
  Status run(cudnnHandle_t handle, cudnnBackendDescriptor_t bound) const;

private:
  explicit AttentionPlan(const Cudnn &library) : descriptors(library) {}
  Status choose(cudnnHandle_t handle, const std::string &properties,
                std::string &reason);
  friend class AttentionGraph;

  CudnnDescriptors descriptors;
  std::vector<cudnnBackendDescriptor_t> operations;
  /// Scalars that a call is given in host memory, by tensor.
  union Scalar {
    float f32;
    int32_t i32;
  };
  std::vector<std::pair<int64_t, std::unique_ptr<Scalar>>> scalars;
  cudnnBackendDescriptor_t plan = nullptr;
  int64_t workspace = 0;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_ATTENTION_ATTENTIONPLAN_H

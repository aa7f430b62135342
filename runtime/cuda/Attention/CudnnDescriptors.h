//===- CudnnDescriptors.h - descriptors of cuDNN's backend ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_ATTENTION_CUDNNDESCRIPTORS_H
#define TP_RUNTIME_CUDA_ATTENTION_CUDNNDESCRIPTORS_H

#include "tp/Runtime/Cuda/Libraries.h"
#include <vector>

namespace tp::runtime::cuda {

/// Descriptors that are destroyed together. The first failure stays: whoever
/// makes descriptors goes on and looks at `status` once.
class CudnnDescriptors {
public:
  using Descriptor = cudnnBackendDescriptor_t;

  explicit CudnnDescriptors(const Cudnn &library) : library(library) {}
  ~CudnnDescriptors();
  CudnnDescriptors(const CudnnDescriptors &) = delete;

  Descriptor create(int kind);
  /// `type` is the one of the attribute, as which `values` lie in memory.
  template <typename T>
  void set(Descriptor descriptor, int attribute, int type,
           const std::vector<T> &values) {
    set(descriptor, attribute, type, int64_t(values.size()), values.data());
  }
  void set(Descriptor descriptor, int attribute, int type, int64_t count,
           const void *values);
  void set(Descriptor descriptor, int attribute, Descriptor value) {
    set(descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
  }
  /// Of an enumeration.
  void set(Descriptor descriptor, int attribute, int type, int value) {
    set(descriptor, attribute, type, 1, &value);
  }
  void finalize(Descriptor descriptor);
  /// The library's answer; no failure that stays.
  Status tryToFinalize(Descriptor descriptor);
  /// What a heuristic found.
  std::vector<Descriptor> results(Descriptor heuristic);
  int64_t integer(Descriptor descriptor, int attribute);

  bool ok() const { return status.ok(); }
  Status status;
  /// Of the call that failed last.
  cudnnStatus_t code = CUDNN_STATUS_SUCCESS;
  /// It cannot do what was asked, or cannot compile it; nothing is broken.
  bool notSupported() const;
  const Cudnn &library;

private:
  template <typename Function, typename... Arguments>
  Status call(const Function &function, Arguments... arguments);

  std::vector<Descriptor> all;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_ATTENTION_CUDNNDESCRIPTORS_H

//===- NcclMemory.h - memory that NCCL knows --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NCCL_NCCLMEMORY_H
#define TP_RUNTIME_CUDA_NCCL_NCCLMEMORY_H

#include "NcclCommunicators.h"

namespace tp::runtime::cuda {

/// The memory of a rank that collectives read and write.
///
/// Symmetric: allocated by NCCL and, in every communicator, a window that has
/// the same bytes at the same offsets on all ranks. Else registered with every
/// communicator, so that the network reads and writes it in place. Else any
/// memory. All ranks have the same of the three: what one cannot have, none
/// has. TP_NCCL_MEMORY=registered or plain does without.
class NcclMemory {
public:
  NcclMemory(Transport &control, const NcclCommunicators &communicators,
             Device &device, double timeout)
      : control(control), communicators(communicators), device(device),
        timeout(timeout) {}

  Status allocate(int64_t rank, int64_t bytes, uint64_t layout,
                  CUdeviceptr &memory);
  /// Before the communicators go, when nothing uses the memory.
  void release();
  /// "symmetric windows of NCCL", "registered with NCCL (no windows: ...)"
  std::string describe() const;

private:
  enum class Kind { Plain, Registered, Symmetric };
  /// Whether all ranks could; `why` keeps this rank's reason.
  Status allCould(const Status &mine, bool &could);
  Status registerWindows(int64_t bytes);
  Status registerBuffers(int64_t bytes);
  void deregister();

  Transport &control;
  const NcclCommunicators &communicators;
  Device &device;
  double timeout;
  int64_t number = -1;
  Kind kind = Kind::Plain;
  std::string why;
  void *base = nullptr;
  /// By communicator.
  std::vector<ncclWindow_t> windows;
  std::vector<void *> handles;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_NCCL_NCCLMEMORY_H

//===- NcclCollectives.h - collectives as calls of NCCL ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NCCL_NCCLCOLLECTIVES_H
#define TP_RUNTIME_CUDA_NCCL_NCCLCOLLECTIVES_H

#include "NcclCommunicators.h"

namespace tp::runtime::cuda {

/// Queues collectives in the device's communication stream.
class NcclCollectives {
public:
  NcclCollectives(const NcclCommunicators &communicators,
                  const EntryView &entry, Device &device)
      : communicators(communicators), entry(entry), device(device) {}

  /// What the program's collectives need besides their operands.
  int64_t stagingBytes() const;
  void setStaging(CUdeviceptr memory) { staging = memory; }
  /// `seconds` is how long NCCL may take to queue it.
  Status queue(const CollectiveCall &call, double seconds);
  /// Several as one group of NCCL's; none of them is staged.
  Status queueGroup(const std::vector<CollectiveCall> &calls, double seconds);

private:
  Status run(const NcclMember &member, const CollectiveCall &call,
             double seconds);
  Status exchange(const NcclMember &member, const char *from, char *to,
                  int64_t bytes, const std::vector<int64_t> *sources,
                  double seconds);
  /// Rows of `bytes`: row i from `from + i * fromPitch` to `to + i * toPitch`.
  Status copyRows(const char *from, int64_t fromPitch, char *to,
                  int64_t toPitch, int64_t bytes, int64_t rows);
  bool needsStaging(const CollectiveCommand &command) const;

  /// Of a call that gave `result`; in a group it is the group's end that
  /// queues.
  template <typename Function>
  Status settled(int result, const Function &call, const char *symbol,
                 ncclComm_t communicator, double seconds) {
    if (inGroup && result == ncclInProgress)
      return {};
    return communicators.settled(result, call, symbol, communicator, seconds);
  }

  const NcclCommunicators &communicators;
  const EntryView &entry;
  Device &device;
  CUdeviceptr staging = 0;
  bool inGroup = false;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_NCCL_NCCLCOLLECTIVES_H

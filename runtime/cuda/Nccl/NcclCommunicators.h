//===- NcclCommunicators.h - the communicators of a rank --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NCCL_NCCLCOMMUNICATORS_H
#define TP_RUNTIME_CUDA_NCCL_NCCLCOMMUNICATORS_H

#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Transport.h"
#include <functional>

namespace tp::runtime::cuda {

/// One rank's side of a group.
struct NcclMember {
  std::vector<int64_t> ranks;
  int64_t position = 0;
  ncclComm_t communicator = nullptr;
};

/// One communicator of all ranks and one per group that a collective uses.
/// No call of NCCL blocks: a rank that never comes does not hang the others.
class NcclCommunicators {
public:
  /// `external`: a communicator of all ranks that the host program made, or
  /// null.
  NcclCommunicators(Transport &control, const EntryView &entry, Device &device,
                    double startTimeout, ncclComm_t external)
      : control(control), entry(entry), device(device),
        startTimeout(startTimeout), external(external) {}

  /// Whether any collective has a group of more than one rank.
  bool needed() const;
  /// Finds the rank's place in every group; with `needed` opens NCCL and
  /// connects.
  Status connect(int64_t rank);
  /// Aborts all of them: what the device waits for in them ends. A graph that
  /// has captured a collective holds its communicator, and the abort of that
  /// comes back when the graph is gone; so `destroyGraphs` comes before, and
  /// none of the aborts waits for another. False: after `seconds` they have not
  /// all come back; they go on in threads of their own, which nothing waits
  /// for, and nothing more may be asked of the device.
  bool release(const std::function<void()> &destroyGraphs, double seconds);

  const Nccl &library() const { return *nccl; }
  /// Those that collectives run in; the same order on all ranks.
  const std::vector<ncclComm_t> &inUse() const { return used; }
  const NcclMember &member(int64_t group) const { return members[group]; }
  /// The first error that happened on the device or the network.
  Status asynchronousError() const;

  /// The Status of a call that gave `result`; waits until a communicator that
  /// works in the background is done.
  template <typename Function>
  Status settled(int result, const Function &call, const char *symbol,
                 ncclComm_t communicator, double seconds) const {
    if (result == ncclInProgress)
      return settle(communicator, symbol, seconds);
    return result == ncclSuccess ? Status() : call.failed(result);
  }

private:
  std::vector<bool> usedGroups() const;
  Status connectAll();
  Status checkExternal() const;
  Status split(NcclMember &member, int64_t color);
  Status exchangeId(ncclUniqueId &id);
  Status settle(ncclComm_t communicator, const char *symbol,
                double seconds) const;

  Transport &control;
  const EntryView &entry;
  Device &device;
  double startTimeout;
  ncclComm_t external;
  int64_t number = -1;
  std::unique_ptr<Nccl> nccl;
  ncclComm_t world = nullptr;
  std::vector<ncclComm_t> communicators, used;
  /// By group.
  std::vector<NcclMember> members;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_NCCL_NCCLCOMMUNICATORS_H

//===- NcclTransport.cpp - collectives by NCCL ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/NcclTransport.h"
#include "NcclCollectives.h"
#include "NcclMemory.h"
#include "tp/Runtime/Transport/ForwardingTransport.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

class NcclTransport final : public ForwardingTransport {
public:
  NcclTransport(Transport &control, const EntryView &entry, Device &device,
                double startTimeout, double timeout, ncclComm_t external)
      : ForwardingTransport(control), entry(entry), device(device),
        timeout(timeout),
        communicators(control, entry, device, startTimeout, external),
        queued(communicators, entry, device),
        shared(control, communicators, device, startTimeout) {}

  /// Everything queued has ended: no rank needs the others for this.
  ~NcclTransport() override {
    if (device.failed())
      return;
    shared.release();
    release();
  }

  Status attach(int64_t rank) override;
  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override;
  Status collectives(int64_t rank, const std::vector<CollectiveCall> &calls,
                     double timeoutSeconds) override;
  Status deviceMemory(int64_t rank, int64_t bytes, uint64_t layout,
                      uint64_t &address) override;
  std::string describeMemory() const override { return shared.describe(); }
  void abort(const Failure &failure) override;
  bool aborted() const override;

private:
  void release() {
    if (!communicators.release(device.destroyGraphs(), timeout))
      device.setFailed();
  }

  const EntryView &entry;
  Device &device;
  double timeout;
  int64_t number = -1;
  NcclCommunicators communicators;
  NcclCollectives queued;
  NcclMemory shared;
};

Status NcclTransport::attach(int64_t rank) {
  number = rank;
  if (Status status = inner.attach(rank); !status.ok())
    return status;
  return communicators.connect(rank);
}

/// Room for what collectives stage stands at the end, so that it is known to
/// NCCL as well.
Status NcclTransport::deviceMemory(int64_t rank, int64_t bytes, uint64_t layout,
                                   uint64_t &address) {
  int64_t staging = queued.stagingBytes();
  address = 0;
  if (!communicators.needed())
    return {};
  CUdeviceptr memory = 0;
  if (Status status = shared.allocate(rank, bytes + staging, layout, memory);
      !status.ok())
    return status;
  queued.setStaging(memory + bytes);
  address = memory;
  return {};
}

Status NcclTransport::collective(int64_t rank, const CollectiveCall &call,
                                 double timeoutSeconds) {
  return queued.queue(call, timeoutSeconds)
      .within("rank " + std::to_string(rank) + ", " +
              entry.describe(progress(rank)));
}

Status NcclTransport::collectives(int64_t rank,
                                  const std::vector<CollectiveCall> &calls,
                                  double timeoutSeconds) {
  return queued.queueGroup(calls, timeoutSeconds)
      .within("rank " + std::to_string(rank) + ", " +
              entry.describe(progress(rank)));
}

bool NcclTransport::aborted() const {
  if (Status status = communicators.asynchronousError(); !status.ok())
    inner.abort({Code::Device, number,
                 "rank " + std::to_string(number) + ", " +
                     entry.describe(progress(number)) + ": " +
                     status.message()});
  return inner.aborted();
}

void NcclTransport::abort(const Failure &failure) {
  inner.abort(failure);
  release();
}

} // namespace

std::unique_ptr<Transport>
cuda::createNcclTransport(Transport &control, const EntryView &entry,
                          Device &device, double startTimeoutSeconds,
                          double timeoutSeconds, ncclComm_t external) {
  return std::make_unique<NcclTransport>(
      control, entry, device, startTimeoutSeconds, timeoutSeconds, external);
}

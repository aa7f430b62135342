//===- NcclTransport.cpp - collectives by NCCL ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/NcclTransport.h"
#include "NcclCollectives.h"
#include "NcclMemory.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

class NcclTransport final : public Transport {
public:
  NcclTransport(Transport &control, const EntryView &entry, Device &device,
                double startTimeout, double timeout, ncclComm_t external)
      : control(control), entry(entry), device(device), timeout(timeout),
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

  int64_t size() const override { return control.size(); }
  Status attach(int64_t rank) override;
  char *memory(int64_t rank) override { return control.memory(rank); }
  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override;
  Status collectives(int64_t rank, const std::vector<CollectiveCall> &calls,
                     double timeoutSeconds) override;
  Status deviceMemory(int64_t rank, int64_t bytes, uint64_t layout,
                      uint64_t &address) override;
  std::string describeMemory() const override { return shared.describe(); }
  Status agreeOnStatus(int64_t rank, int32_t value, double timeoutSeconds,
                       int32_t &agreed) override {
    return control.agreeOnStatus(rank, value, timeoutSeconds, agreed);
  }
  Status barrier(int64_t rank, double timeoutSeconds) override {
    return control.barrier(rank, timeoutSeconds);
  }
  void heartbeat(int64_t rank) override { control.heartbeat(rank); }
  Status leave(int64_t rank, double timeoutSeconds) override {
    return control.leave(rank, timeoutSeconds);
  }
  void progress(int64_t rank, int64_t command) override {
    control.progress(rank, command);
  }
  int64_t progress(int64_t rank) const override {
    return control.progress(rank);
  }
  void abort(const Failure &failure) override;
  bool aborted() const override;
  std::optional<Failure> failure() const override { return control.failure(); }
  char *mailbox(int64_t rank) override { return control.mailbox(rank); }

private:
  void release() {
    if (!communicators.release(device.destroyGraphs(), timeout))
      device.setFailed();
  }

  Transport &control;
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
  if (Status status = control.attach(rank); !status.ok())
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
    control.abort({Code::Device, number,
                   "rank " + std::to_string(number) + ", " +
                       entry.describe(progress(number)) + ": " +
                       status.message()});
  return control.aborted();
}

void NcclTransport::abort(const Failure &failure) {
  control.abort(failure);
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

//===- NcclTransport.cpp - collectives by NCCL ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/NcclTransport.h"
#include "NcclCollectives.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

class NcclTransport final : public Transport {
public:
  NcclTransport(std::unique_ptr<Transport> control, const Manifest &manifest,
                Device &device, double startTimeout)
      : control(std::move(control)), manifest(manifest), device(device),
        communicators(*this->control, manifest, startTimeout),
        collectives(communicators, manifest, device) {}

  /// Everything queued has ended: no rank needs the others for this.
  ~NcclTransport() override {
    if (!device.failed())
      communicators.release();
  }

  int64_t size() const override { return control->size(); }
  Status attach(int64_t rank) override;
  char *memory(int64_t rank) override { return control->memory(rank); }
  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override;
  Status agree(int64_t rank, int32_t value, double timeoutSeconds,
               int32_t &agreed) override {
    return control->agree(rank, value, timeoutSeconds, agreed);
  }
  Status meet(int64_t rank, double timeoutSeconds) override {
    return control->meet(rank, timeoutSeconds);
  }
  void alive(int64_t rank) override { control->alive(rank); }
  void progress(int64_t rank, int64_t command) override {
    control->progress(rank, command);
  }
  int64_t progress(int64_t rank) const override {
    return control->progress(rank);
  }
  void abort(const Failure &failure) override;
  bool aborted() const override;
  std::optional<Failure> failure() const override { return control->failure(); }
  char *note(int64_t rank) override { return control->note(rank); }

private:
  std::unique_ptr<Transport> control;
  const Manifest &manifest;
  Device &device;
  int64_t number = -1;
  NcclCommunicators communicators;
  NcclCollectives collectives;
};

Status NcclTransport::attach(int64_t rank) {
  number = rank;
  if (Status status = control->attach(rank); !status.ok())
    return status;
  if (communicators.needed())
    if (Status status = collectives.prepare(); !status.ok())
      return status;
  return communicators.connect(rank);
}

Status NcclTransport::collective(int64_t rank, const CollectiveCall &call,
                                 double timeoutSeconds) {
  return collectives.queue(call, timeoutSeconds)
      .within("rank " + std::to_string(rank) + ", " +
              manifest.describe(progress(rank)));
}

bool NcclTransport::aborted() const {
  if (Status status = communicators.asynchronousError(); !status.ok())
    control->abort({Code::Device, number,
                    "rank " + std::to_string(number) + ", " +
                        manifest.describe(progress(number)) + ": " +
                        status.message()});
  return control->aborted();
}

void NcclTransport::abort(const Failure &failure) {
  control->abort(failure);
  communicators.release();
}

} // namespace

std::unique_ptr<Transport>
cuda::createNcclTransport(std::unique_ptr<Transport> control,
                          const Manifest &manifest, Device &device,
                          double startTimeoutSeconds) {
  return std::make_unique<NcclTransport>(std::move(control), manifest, device,
                                         startTimeoutSeconds);
}

//===- RunDevice.cpp - one rank on a device -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Report/Summary.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Cuda/NcclTransport.h"
#include <cstdio>
#include <new>

using namespace tp::run;
using namespace tp::runtime;

static Status runSteps(const Options &options, const Artifact &artifact,
                       cuda::Device &device, Transport &transport,
                       const InputLoader &loader, int64_t number,
                       CommandTime *times) {
  const EntryView &entry = artifact.entry();
  std::unique_ptr<cuda::DeviceRank> rank;
  if (Status status = cuda::DeviceRank::create(
          artifact, device, transport, number, options.rankOptions(), rank);
      !status.ok())
    return status;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    if (entry.arguments[i].dead)
      continue;
    transport.heartbeat(number);
    Status status = rank->load(i, [&](const RankSlice &slice, char *buffer) {
      loader.fillPart(i, slice, buffer);
    });
    if (!status.ok())
      return status;
  }
  if (options.skipCollectives && options.randomSeed)
    if (Status status = rank->fillSkippedResults(*options.randomSeed);
        !status.ok())
      return status;
  RankReport report;
  if (Status status = barrierAndMeasure(
          options, transport, number, [&] { return rank->step(); }, report);
      !status.ok())
    return status;
  if (Status status = rank->fetchResults(); !status.ok())
    return status;
  if (!options.commandTimes.empty()) {
    cuda::StepTimes measured;
    Status status = rank->measureCommands(options.repeat, measured);
    if (status.ok())
      status = writeCommandTimes(options.commandTimes, entry, number, measured);
    if (!status.ok())
      return status;
    if (options.stats)
      std::fputs(describeCommandTimes(entry, number, measured).c_str(), stdout);
  }
  const auto &attentions = rank->attentionCounts();
  report.fusedAttentions = attentions.fused;
  report.attentionsInSteps = attentions.inSteps;
  attentions.reason.copy(report.whyInSteps, sizeof(report.whyInSteps) - 1);
  transport.describeMemory().copy(report.deviceMemory,
                                  sizeof(report.deviceMemory) - 1);
  leaveReport(transport, number, report, rank->times(), times);
  return {};
}

Status tp::run::runDeviceRank(const Options &options, const Artifact &artifact,
                              std::unique_ptr<Transport> control,
                              const InputLoader &loader, int64_t rank,
                              std::optional<int64_t> localRank,
                              CommandTime *times) {
  const EntryView &entry = artifact.entry();
  std::unique_ptr<cuda::Device> device;
  std::unique_ptr<Transport> transport = std::move(control);
  Status status = cuda::Device::open(localRank.value_or(rank), device);
  try {
    if (status.ok()) {
      if (!options.skipCollectives)
        transport =
            cuda::createNcclTransport(std::move(transport), entry, *device,
                                      options.startTimeout, options.timeout);
      if (options.fault)
        transport = injectFault(std::move(transport), entry, *options.fault,
                                /*processes=*/true);
      status =
          runSteps(options, artifact, *device, *transport, loader, rank, times);
    } else {
      status = status.within("rank " + std::to_string(rank));
    }
  } catch (const std::bad_alloc &) {
    status = outOfMemory(artifact, *transport, rank);
  }
  if (!status.ok()) {
    // The device may hang: this process ends without asking it for anything.
    if (device)
      device->setFailed();
    transport->abort({status.code(), rank, status.message()});
  }
  // Before the device that it works on.
  transport.reset();
  return status;
}

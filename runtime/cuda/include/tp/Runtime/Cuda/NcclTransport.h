//===- NcclTransport.h - collectives by NCCL --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NCCLTRANSPORT_H
#define TP_RUNTIME_CUDA_NCCLTRANSPORT_H

#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Transport.h"

namespace tp::runtime::cuda {

/// Ranks whose collectives NCCL runs on their devices. `control`, which outlives
/// it, does the rest: it hands the unique id around, agrees on a step's status
/// and carries aborts.
///
/// `attach` connects: one communicator of all ranks, split once per group, none
/// where no collective has a group of more than one rank. An `external`
/// communicator of all ranks is the one that is split; it stays the host's. `collective` queues
/// work in the device's communication stream, with addresses of device memory,
/// and comes back before it has run. `aborted` asks NCCL for asynchronous
/// errors as well; the first one aborts the run, naming the command that the
/// rank is at. `abort` destroys the device's graphs and aborts this rank's
/// communicators, which ends the waits of its device; it comes back after
/// `timeoutSeconds` at the latest.
///
/// Unlike the other transports it does not promise one order of reduction, nor
/// that max and min let NaN through (docs/artifact.md).
std::unique_ptr<Transport>
createNcclTransport(Transport &control, const EntryView &entry, Device &device,
                    double startTimeoutSeconds, double timeoutSeconds,
                    ncclComm_t external = nullptr);

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_NCCLTRANSPORT_H

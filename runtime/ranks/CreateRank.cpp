//===- CreateRank.cpp - a rank for the target of an artifact --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/CreateRank.h"
#include "core/CpuRank.h"
#ifdef TP_HAVE_CUDA
#include "tp/Runtime/Cuda/DeviceRank.h"
#endif

using namespace tp::runtime;

Status tp::runtime::createRank(const Artifact &artifact, Transport &transport,
                               int64_t rank, const RankOptions &options,
                               std::unique_ptr<Rank> &created) {
  return std::visit(Overloaded{[&](const CpuTarget &) {
                                 return CpuRank::create(artifact, transport,
                                                        rank, options, created);
                               },
                               [&](const CudaTarget &) {
#ifdef TP_HAVE_CUDA
                                 return cuda::DeviceRank::create(
                                     artifact, transport, rank, options,
                                     created);
#else
                                 return unsupported(
                                     "the artifact is for target 'cuda', and "
                                     "this runtime "
                                     "was built for the CPU alone: expected "
                                     "one that was "
                                     "configured with TP_RUNTIME_CUDA=ON, or "
                                     "an artifact "
                                     "compiled with --target=cpu");
#endif
                               }},
                    artifact.manifest().target);
}

//===- CreateRank.h - a rank for the target of an artifact ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CREATERANK_H
#define TP_RUNTIME_CREATERANK_H

#include "tp/Runtime/Rank.h"

namespace tp::runtime {

/// A rank on the CPU, or on a device: as the artifact's target says. An error
/// where this runtime has no ranks of that kind.
Status createRank(const Artifact &artifact, Transport &transport, int64_t rank,
                  const RankOptions &options, std::unique_ptr<Rank> &created);

} // namespace tp::runtime

#endif // TP_RUNTIME_CREATERANK_H

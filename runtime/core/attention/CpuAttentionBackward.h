//===- CpuAttentionBackward.h - gradients of attention ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing of queries by keys is in memory: of a block of keys and a block of
// queries the weights are made again from q, k and the logarithm of each
// query's sum, as in the forward pass (T. Dao et al., "FlashAttention", 2022,
// algorithm 4). A block of keys adds up its own gradients while blocks of
// queries go by; those of the queries of one head stay in scratch memory.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_ATTENTION_CPUATTENTIONBACKWARD_H
#define TP_RUNTIME_CORE_ATTENTION_CPUATTENTIONBACKWARD_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// The addresses of the operands; `bias` and `onto` may be null, and `onto` may
/// be `gq`.
struct AttentionBackwardAddresses {
  const void *q, *k, *v, *bias, *go, *lse, *delta;
  void *gq, *gk, *gv;
  const void *onto = nullptr;
};

/// The bytes that `attentionBackward` works in for `command`: linear in
/// queries.
int64_t attentionBackwardScratch(const AttentionBackwardCommand &command);

/// Runs `command` on the calling thread. All sums are f64 for f64, else f32;
/// gradients are rounded once. `scratch` has attentionBackwardScratch bytes and
/// is aligned to 64.
void attentionBackward(const AttentionBackwardCommand &command,
                       const AttentionBackwardAddresses &addresses,
                       void *scratch);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_ATTENTION_CPUATTENTIONBACKWARD_H

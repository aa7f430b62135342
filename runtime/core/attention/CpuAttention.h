//===- CpuAttention.h - attention on the CPU --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of queries meet blocks of keys. Each row keeps the maximum and the sum
// of what it has seen, and what it has added up is scaled where the maximum
// grows (M. Milakov and N. Gimelshein, "Online normalizer calculation for
// softmax", 2018; T. Dao et al., "FlashAttention", 2022). Memory does not
// depend on the number of queries and keys; blocks that no query of theirs sees
// are skipped.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_ATTENTION_CPUATTENTION_H
#define TP_RUNTIME_CORE_ATTENTION_CPUATTENTION_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// The addresses of an attention's operands; `bias` and `onto` may be null, and
/// `onto` may be `o`.
struct AttentionAddresses {
  const void *q, *k, *v, *bias;
  void *o;
  const void *onto = nullptr;
};

/// The bytes that `attention` works in for `command`.
int64_t attentionScratch(const AttentionCommand &command);

/// Runs `command` on the calling thread. Scores, probabilities and sums are f64
/// for f64, else f32; o is rounded once. `scratch` has attentionScratch bytes
/// and is aligned to 64.
void attention(const AttentionCommand &command,
               const AttentionAddresses &addresses, void *scratch);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_ATTENTION_CPUATTENTION_H

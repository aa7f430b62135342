//===- VectorLoops.cpp - the loops of this processor ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorLoops.h"

using namespace tp::runtime;

static const VectorLoops *loopsOfProcessor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return vectorLoopsOfAvx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return vectorLoopsOfAvx2();
#endif
  return vectorLoopsOfAny();
}

const VectorLoops &tp::runtime::vectorLoops() {
  static const VectorLoops *loops = loopsOfProcessor();
  return *loops;
}

bool tp::runtime::readsStreams() {
#if defined(__x86_64__)
  // vectorLoops() has asked for the processor. AMD's that foresee one stream
  // have AVX-512: Zen 4 and later ones.
  return __builtin_cpu_is("intel") || !__builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

const NarrowLoops &tp::runtime::narrowLoops(NarrowType type) {
  return type == NarrowType::F16 ? vectorLoops().f16 : vectorLoops().bf16;
}

bool tp::runtime::isOfFewRows(int64_t rows, int64_t k) {
  constexpr int64_t leastDepth = 384, mostElements = 98304;
  return rows <= veryFewRows || (rows <= vectorLoops().mostRows &&
                                 k >= leastDepth && rows * k <= mostElements);
}

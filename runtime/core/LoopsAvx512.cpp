//===- LoopsAvx512.cpp - vector loops for AVX-512 -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBodies.h"

const tp::runtime::VectorLoops *tp::runtime::vectorLoopsOfAvx512() {
  return &loops;
}

//===- LoopsAvx2.cpp - vector loops for AVX2, FMA and F16C ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBodies.h"

const tp::runtime::VectorLoops *tp::runtime::vectorLoopsOfAvx2() {
  return &loops;
}

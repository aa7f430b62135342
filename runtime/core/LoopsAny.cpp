//===- LoopsAny.cpp - vector loops for any processor ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBodies.h"

const tp::runtime::VectorLoops *tp::runtime::vectorLoopsOfAny() {
  return &loops;
}

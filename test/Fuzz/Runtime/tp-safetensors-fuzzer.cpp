//===- tp-safetensors-fuzzer.cpp - weight files ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "tp/Runtime/SafeTensors.h"

using namespace tp::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tp::fuzz::MemoryFile file(data, size);
  SafeTensors tensors;
  if (!SafeTensors::open(file.path(), tensors).ok())
    return 0;
  size_t covered = 0;
  for (const auto &[key, entry] : tensors.entries()) {
    covered += tensors.bytes(entry).size();
    Array array;
    if (tensors.array(key, array).ok())
      (void)npyBytes(array);
  }
  if (covered > size)
    abort();
  return 0;
}

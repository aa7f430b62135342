//===- tp-npy-fuzzer.cpp - arrays of .npy files ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "tp/Runtime/Array.h"

using namespace tp::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tp::fuzz::MemoryFile file(data, size);
  // --dtype is given or not, as the last byte says.
  std::optional<DataType> rawType;
  if (size && data[size - 1] % 2)
    rawType = DataType::BF16;
  Array array;
  if (!readNpy(file.path(), rawType, array).ok())
    return 0;
  // Every element that the array says it has must be there, and what is
  // written from it must be read as the same.
  tp::fuzz::MemoryFile copy(npyBytes(array));
  Array again;
  if (!readNpy(copy.path(), array.dtype, again).ok() ||
      again.shape != array.shape ||
      (again.dtype != array.dtype && byteSize(again.dtype) != 8))
    abort();
  return 0;
}

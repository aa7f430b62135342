//===- RandomData.cpp - arguments without files ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputLoader.h"
#include "tp/Runtime/Slices.h"
#include <cstring>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// SplitMix64's finalizer: neighbours give unrelated bits.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

void store(DataType type, char *address, uint64_t bits) {
  // In [-0.5, 0.5): small enough for a deep model to stay finite.
  double real = double(bits >> 11) * 0x1p-53 - 0.5;
  auto put = [&](auto value) { std::memcpy(address, &value, sizeof(value)); };
  switch (type) {
  case DataType::F64:
    return put(real);
  case DataType::F32:
    return put(float(real));
  case DataType::F16:
    return put(floatToHalf(float(real)));
  case DataType::BF16:
    return put(floatToBfloat(float(real)));
  case DataType::F8E4M3FN:
  case DataType::F8E5M2:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return put(floatToFloat8(type, float(real)));
  default:
    // 0 or 1: a valid index of any table that has two rows.
    int64_t integer = bits >> 63;
    std::memcpy(address, &integer, byteSize(type));
  }
}

} // namespace

void tp::run::fillRandom(const RankSlice &slice, int64_t argument,
                         uint64_t seed, char *buffer) {
  uint64_t stream = mix(seed ^ mix(argument));
  int64_t bytes = byteSize(slice.dtype);
  forEachValid(slice, [&](int64_t global, int64_t local) {
    store(slice.dtype, buffer + local * bytes, mix(stream + global));
  });
}

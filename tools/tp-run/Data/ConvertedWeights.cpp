//===- ConvertedWeights.cpp - weights in other floats than files ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertedWeights.h"
#include "tp/Runtime/Slices.h"
#include <cmath>
#include <cstring>

using namespace tp::run;
using namespace tp::runtime;

bool tp::run::widensExactly(DataType from, DataType to) {
  bool isNarrow = from == DataType::F16 || from == DataType::BF16;
  return (to == DataType::F32 && isNarrow) ||
         (to == DataType::F64 && (isNarrow || from == DataType::F32));
}

/// Writes a number in `dtype`, one of the floats of 16 bits and more. False if
/// it is finite and too large.
static bool write(DataType dtype, double value, char *to) {
  float single = float(value);
  switch (dtype) {
  case DataType::F64:
    std::memcpy(to, &value, sizeof(value));
    return true;
  case DataType::F32:
    std::memcpy(to, &single, sizeof(single));
    return true;
  default:
    break;
  }
  bool isHalf = dtype == DataType::F16;
  uint16_t narrow = isHalf ? floatToHalf(single) : floatToBfloat(single);
  float stored = isHalf ? halfToFloat(narrow) : bfloatToFloat(narrow);
  std::memcpy(to, &narrow, sizeof(narrow));
  return !std::isinf(stored) || std::isinf(single);
}

Status tp::run::scatterConverted(const RankSlice &slice, const Array &array,
                                 char *buffer) {
  int64_t wideSize = byteSize(array.dtype), size = byteSize(slice.dtype);
  std::vector<int64_t> strides = slice.localStrides();
  for (const Box &box : slice.boxes) {
    int64_t elements = elementCount(box.size).value_or(0);
    if (elements == 0)
      continue;
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < box.size.size(); ++d) {
      from += box.global[d] * array.strides[d];
      to += box.local[d] * strides[d];
    }
    std::vector<char> read(elements * wideSize), written(elements * size);
    std::vector<int64_t> dense = rowMajorStrides(box.size);
    copyStrided(box.size, wideSize, array.data + from * wideSize, array.strides,
                read.data(), dense);
    for (int64_t i = 0; i < elements; ++i) {
      double value = elementAsDouble(array.dtype, read.data(), i);
      if (!write(slice.dtype, value, written.data() + i * size))
        return invalidArgument(
            std::to_string(value) + " is too large for " +
            spelling(slice.dtype) +
            (slice.dtype == DataType::F16
                 ? ", expected a program that was compiled with "
                   "--weight-storage=bf16"
                 : ""));
    }
    copyStrided(box.size, size, written.data(), dense, buffer + to * size,
                strides);
  }
  return {};
}

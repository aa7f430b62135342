//===- RoundedWeights.cpp - weights that are stored in fewer bits ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoundedWeights.h"
#include "tp/Runtime/Slices.h"
#include <cmath>
#include <cstring>

using namespace tp::run;
using namespace tp::runtime;

Status tp::run::scatterRounded(const RankSlice &slice, const Array &array,
                               char *buffer) {
  bool isHalf = slice.dtype == DataType::F16;
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
    std::vector<float> wide(elements);
    std::vector<uint16_t> narrow(elements);
    std::vector<int64_t> dense = rowMajorStrides(box.size);
    copyStrided(box.size, sizeof(float), array.data + from * sizeof(float),
                array.strides, wide.data(), dense);
    for (int64_t i = 0; i < elements; ++i) {
      narrow[i] = isHalf ? floatToHalf(wide[i]) : floatToBfloat(wide[i]);
      float stored = isHalf ? halfToFloat(narrow[i]) : bfloatToFloat(narrow[i]);
      if (std::isinf(stored) && !std::isinf(wide[i]))
        return invalidArgument(std::to_string(wide[i]) + " is too large for " +
                               spelling(slice.dtype) +
                               (isHalf ? ", expected a program that was "
                                         "compiled with --weight-storage=bf16"
                                       : ""));
    }
    copyStrided(box.size, sizeof(uint16_t), narrow.data(), dense,
                buffer + to * sizeof(uint16_t), strides);
  }
  return {};
}

Status tp::run::roundArray(Array &array, DataType dtype) {
  char *bytes = nullptr;
  Array rounded = makeArray(dtype, array.shape, bytes);
  std::vector<int64_t> plain(array.shape.size());
  for (size_t d = 0; d < plain.size(); ++d)
    plain[d] = int64_t(d);
  std::vector<int64_t> zeros(plain.size());
  RankSlice whole{
      dtype, array.shape, array.shape, plain, {{zeros, zeros, array.shape}}};
  Status status = scatterRounded(whole, array, bytes);
  array = std::move(rounded);
  return status;
}

//===- TypedTensor.h - elements of any type as doubles ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CORE_TYPEDTENSOR_H
#define TP_TEST_RUNTIME_CORE_TYPEDTENSOR_H

#include "tp/Runtime/DataType.h"
#include <cstring>
#include <vector>

namespace tp::test {

/// Memory of f64, f32, f16, bf16 or i64.
struct TypedTensor {
  runtime::DataType type = runtime::DataType::F32;
  std::vector<char> bytes;

  TypedTensor() = default;
  TypedTensor(runtime::DataType type, int64_t count)
      : type(type), bytes(count * byteSize(type)) {}
  double at(int64_t index) const {
    return elementAsDouble(type, bytes.data(), index);
  }
  void set(int64_t index, double value) {
    using runtime::DataType;
    char *to = bytes.data() + index * byteSize(type);
    auto put = [&](auto element) {
      std::memcpy(to, &element, sizeof(element));
    };
    if (type == DataType::F64)
      put(value);
    else if (type == DataType::F32)
      put(float(value));
    else if (type == DataType::I64)
      put(int64_t(value));
    else if (type == DataType::F16)
      put(runtime::floatToHalf(value));
    else
      put(runtime::floatToBfloat(value));
  }
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CORE_TYPEDTENSOR_H

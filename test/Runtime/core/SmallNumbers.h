//===- SmallNumbers.h - numbers whose sums are exact ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CORE_SMALLNUMBERS_H
#define TP_TEST_RUNTIME_CORE_SMALLNUMBERS_H

#include "tp/Runtime/DataType.h"
#include <vector>

namespace tp::test {

/// Elements of f16 and bf16, which are widened to be added.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(runtime::floatToHalf(value)) {}
  operator float() const { return runtime::halfToFloat(bits); }
};
struct BFloat {
  uint16_t bits = 0;
  BFloat() = default;
  explicit BFloat(float value) : bits(runtime::floatToBfloat(value)) {}
  operator float() const { return runtime::bfloatToFloat(bits); }
};

/// Small integers: every sum is exact, in any order.
template <typename T> std::vector<T> numbers(int64_t count, int64_t salt) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = T((i * 37 + salt * 11) % 13 - 6);
  return values;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CORE_SMALLNUMBERS_H

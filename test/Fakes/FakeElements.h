//===- FakeElements.h - elements that libraries write -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKEELEMENTS_H
#define TP_TEST_FAKES_FAKEELEMENTS_H

#include "tp/Runtime/DataType.h"
#include <cstring>

namespace tp::fake {

/// Writes `value` as one element of a float type, rounded to nearest, ties to
/// even.
inline void storeFloat(runtime::DataType type, void *element, double value) {
  using runtime::DataType;
  auto put = [&](auto number) {
    std::memcpy(element, &number, sizeof(number));
  };
  if (type == DataType::F64)
    put(value);
  else if (type == DataType::F32)
    put(float(value));
  else if (type == DataType::F16)
    put(runtime::floatToHalf(float(value)));
  else if (type == DataType::BF16)
    put(runtime::floatToBfloat(float(value)));
  else
    put(runtime::floatToFloat8(type, float(value)));
}

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKEELEMENTS_H

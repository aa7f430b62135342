//===- Poison.cpp - padding that shows when it is read --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Rank.h"
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

using namespace tp::runtime;

namespace {
template <typename T>
void fill(void *data, int64_t count, const uint8_t *mask, T value) {
  auto *elements = static_cast<T *>(data);
  if (!mask) {
    std::fill(elements, elements + count, value);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    if (mask[i])
      elements[i] = value;
}

template <typename T>
void fillLeast(void *data, int64_t count, const uint8_t *mask) {
  fill<T>(data, count, mask, std::numeric_limits<T>::min());
}
} // namespace

bool tp::runtime::poisonByDefault() {
  if (const char *wish = std::getenv("TP_POISON"))
    return std::string_view(wish) != "0" && std::string_view(wish) != "";
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

void tp::runtime::fillWithPoison(DataType type, void *data, int64_t count,
                                 const uint8_t *mask) {
  switch (type) {
  case DataType::F64:
    return fill(data, count, mask, std::numeric_limits<double>::quiet_NaN());
  case DataType::F32:
    return fill(data, count, mask, std::numeric_limits<float>::quiet_NaN());
  case DataType::F16:
  case DataType::BF16:
    return fill<uint16_t>(data, count, mask, 0x7fff);
  case DataType::I64:
  case DataType::U64:
  case DataType::Index:
    return fillLeast<int64_t>(data, count, mask);
  case DataType::I32:
  case DataType::U32:
    return fillLeast<int32_t>(data, count, mask);
  case DataType::I16:
  case DataType::U16:
    return fillLeast<int16_t>(data, count, mask);
  case DataType::I8:
  case DataType::U8:
    return fillLeast<int8_t>(data, count, mask);
  case DataType::I1:
    // Any other byte is no i1 at all; code may rely on 0 or 1.
    return fill<uint8_t>(data, count, mask, 1);
  case DataType::F8E4M3FN:
  case DataType::F8E5M2:
    return fill<uint8_t>(data, count, mask, 0x7f);
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return fill<uint8_t>(data, count, mask, 0x80);
  }
}

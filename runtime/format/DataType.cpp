//===- DataType.cpp - element types ---------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/DataType.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace tp::runtime;

namespace {
struct Row {
  const char *name;
  int64_t size;
  bool isFloat, isUnsigned = false;
};
constexpr Row rows[numDataTypes] = {
    {"f64", 8, true},        {"f32", 4, true},        {"f16", 2, true},
    {"bf16", 2, true},       {"i64", 8, false},       {"i32", 4, false},
    {"i16", 2, false},       {"i8", 1, false},        {"i1", 1, false},
    {"index", 8, false},     {"f8E4M3FN", 1, true},   {"f8E5M2", 1, true},
    {"f8E4M3FNUZ", 1, true}, {"f8E5M2FNUZ", 1, true}, {"u64", 8, false, true},
    {"u32", 4, false, true}, {"u16", 2, false, true}, {"u8", 1, false, true}};

/// How a float of eight bits is laid out.
struct Float8 {
  int mantissaBits, bias;
  /// The largest finite magnitude; what stands for NaN and for what is too
  /// large, without sign where the format has one such code only.
  uint8_t largest, nan, overflow;
  /// No negative zero; NaN is the code it would have.
  bool unsignedZero;
};

constexpr Float8 formatOf(DataType type) {
  switch (type) {
  case DataType::F8E4M3FN:
    return {3, 7, 0x7e, 0x7f, 0x7f, false};
  case DataType::F8E5M2:
    return {2, 15, 0x7b, 0x7f, 0x7c, false};
  case DataType::F8E4M3FNUZ:
    return {3, 8, 0x7f, 0x80, 0x80, true};
  default:
    return {2, 16, 0x7f, 0x80, 0x80, true};
  }
}

template <typename T> T load(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}
} // namespace

int64_t tp::runtime::byteSize(DataType type) { return rows[int(type)].size; }
const char *tp::runtime::spelling(DataType type) {
  return rows[int(type)].name;
}
bool tp::runtime::isFloat(DataType type) { return rows[int(type)].isFloat; }
bool tp::runtime::isUnsigned(DataType type) {
  return rows[int(type)].isUnsigned;
}
bool tp::runtime::isFloat8(DataType type) {
  return isFloat(type) && byteSize(type) == 1;
}

std::optional<DataType> tp::runtime::parseDataType(std::string_view name) {
  for (int i = 0; i < numDataTypes; ++i)
    if (name == rows[i].name)
      return DataType(i);
  return std::nullopt;
}

float tp::runtime::halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    // Zero or subnormal: mantissa * 2^-24, exact in f32.
    float magnitude = float(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (mantissa << 13));
}

uint16_t tp::runtime::floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN stays a quiet NaN with its top bits.
    return sign | 0x7e00 | ((magnitude >> 13) & 0x1ff);
  if (magnitude >= 0x477ff000) // Rounds to 65536 or more.
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: adding 2^-1 * 2^0 aligns the units to 2^-24 and rounds once.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

uint16_t tp::runtime::floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float tp::runtime::float8ToFloat(DataType type, uint8_t bits) {
  Float8 format = formatOf(type);
  uint8_t magnitude = bits & 0x7f;
  if (format.unsignedZero ? bits == format.nan : magnitude > format.largest) {
    bool infinite = magnitude == 0x7c && type == DataType::F8E5M2;
    float special = infinite ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    return std::copysign(special, bits & 0x80 ? -1.0f : 1.0f);
  }
  // The bits read as an f32 are off by the difference of the biases, a power
  // of two, even where they are a subnormal number.
  float scaled =
      std::bit_cast<float>(uint32_t(magnitude) << (23 - format.mantissaBits));
  float value = std::ldexp(scaled, 127 - format.bias);
  return bits & 0x80 ? -value : value;
}

uint8_t tp::runtime::floatToFloat8(DataType type, float value) {
  Float8 format = formatOf(type);
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint8_t sign = (bits >> 24) & 0x80;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return format.unsignedZero ? format.nan : sign | format.nan;
  int dropped = 23 - format.mantissaBits;
  uint32_t code;
  if (magnitude < uint32_t(127 + 1 - format.bias) << 23) {
    // Subnormal: the sum's last place is the format's unit.
    float unit = std::ldexp(1.0f, dropped + 1 - format.bias);
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + unit) -
           std::bit_cast<uint32_t>(unit);
  } else {
    uint32_t half = (1u << (dropped - 1)) - 1;
    uint32_t rounded = magnitude + half + ((magnitude >> dropped) & 1);
    code = (rounded >> dropped) -
           (uint32_t(127 - format.bias) << format.mantissaBits);
  }
  if (code > format.largest)
    return format.unsignedZero ? format.overflow : sign | format.overflow;
  return format.unsignedZero && code == 0 ? 0 : sign | code;
}

double tp::runtime::elementAsDouble(DataType type, const void *data,
                                    int64_t index) {
  switch (type) {
  case DataType::F64:
    return load<double>(data, index);
  case DataType::F32:
    return load<float>(data, index);
  case DataType::F16:
    return halfToFloat(load<uint16_t>(data, index));
  case DataType::BF16:
    return bfloatToFloat(load<uint16_t>(data, index));
  case DataType::F8E4M3FN:
  case DataType::F8E5M2:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return float8ToFloat(type, load<uint8_t>(data, index));
  case DataType::U64:
    return double(load<uint64_t>(data, index));
  case DataType::I64:
  case DataType::I32:
  case DataType::I16:
  case DataType::I8:
  case DataType::I1:
  case DataType::Index:
  case DataType::U32:
  case DataType::U16:
  case DataType::U8:
    return double(elementAsInteger(type, data, index));
  }
}

int64_t tp::runtime::elementAsInteger(DataType type, const void *data,
                                      int64_t index) {
  if (isUnsigned(type) && byteSize(type) == 4)
    return load<uint32_t>(data, index);
  if (isUnsigned(type) && byteSize(type) == 2)
    return load<uint16_t>(data, index);
  if (isUnsigned(type) && byteSize(type) == 1)
    return load<uint8_t>(data, index);
  switch (byteSize(type)) {
  case 8:
    return load<int64_t>(data, index);
  case 4:
    return load<int32_t>(data, index);
  case 2:
    return load<int16_t>(data, index);
  default:
    return load<int8_t>(data, index);
  }
}

std::optional<int64_t>
tp::runtime::elementCount(const std::vector<int64_t> &sizes) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    // A zero anywhere makes the array empty, but must not hide an overflow
    // that a stride would run into.
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

std::vector<int64_t>
tp::runtime::rowMajorStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * (sizes[i] ? sizes[i] : 1);
  return strides;
}

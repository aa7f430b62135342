//===- DataType.h - element types -------------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_DATATYPE_H
#define TP_RUNTIME_DATATYPE_H

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tp::runtime {

/// The values are those of tp_dtype in the C ABI.
enum class DataType : int {
  F64 = 0,
  F32 = 1,
  F16 = 2,
  BF16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  /// One byte, 0 or 1.
  I1 = 8,
  /// Eight bytes, signed.
  Index = 9,
  F8E4M3FN = 10,
  F8E5M2 = 11,
  F8E4M3FNUZ = 12,
  F8E5M2FNUZ = 13,
  /// Of arguments and results only: programs compute with the bits.
  U64 = 14,
  U32 = 15,
  U16 = 16,
  U8 = 17,
};
inline constexpr int numDataTypes = 18;

int64_t byteSize(DataType type);
const char *spelling(DataType type);
std::optional<DataType> parseDataType(std::string_view name);
bool isFloat(DataType type);
bool isUnsigned(DataType type);
/// One of the floats of eight bits.
bool isFloat8(DataType type);

/// f16 and bf16 as bits; halves are widened exactly and rounded to nearest,
/// ties to even.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}
uint16_t floatToBfloat(float value);

/// A float of eight bits, widened exactly.
float float8ToFloat(DataType type, uint8_t bits);
/// Rounded to nearest, ties to even. What is too large becomes infinity in
/// f8E5M2 and NaN in the formats without infinities.
uint8_t floatToFloat8(DataType type, float value);

/// Element `index` of `data` as a double. Exact for all types but the 64-bit
/// integers.
double elementAsDouble(DataType type, const void *data, int64_t index);
/// Element `index` of `data`, which holds integers, i1 or indices. One of u64
/// from 2^63 on comes as the signed number of the same bits.
int64_t elementAsInteger(DataType type, const void *data, int64_t index);

/// The product of `sizes`, or nothing if a size is negative or the product
/// does not fit.
std::optional<int64_t> elementCount(const std::vector<int64_t> &sizes);
std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &sizes);

} // namespace tp::runtime

#endif // TP_RUNTIME_DATATYPE_H

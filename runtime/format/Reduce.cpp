//===- Reduce.cpp - elementwise reduction over ranks ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Reduce.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace tp::runtime;

namespace {

// Accumulators of one block stay in the first-level cache.
constexpr int64_t blockElements = 1024;

template <typename T> struct Plain {
  using Stored = T;
  using Accumulator = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

struct Half {
  using Stored = uint16_t;
  using Accumulator = float;
  static float widen(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t narrow(float value) { return floatToHalf(value); }
};

struct Bfloat {
  using Stored = uint16_t;
  using Accumulator = float;
  static float widen(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t narrow(float value) { return floatToBfloat(value); }
};

template <DataType type> struct Float8 {
  using Stored = uint8_t;
  using Accumulator = float;
  static float widen(uint8_t bits) { return float8ToFloat(type, bits); }
  static uint8_t narrow(float value) { return floatToFloat8(type, value); }
};

/// Integers wrap: the arithmetic is done on the unsigned type.
template <typename T> T wrappingAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}

template <typename T> T wrappingMultiply(T a, T b) {
  // 64 bits, because small unsigned types promote to int, which overflows.
  if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) * uint64_t(b));
  else
    return a * b;
}

struct Add {
  template <typename T> static T apply(T a, T b) { return wrappingAdd(a, b); }
};
struct Multiply {
  template <typename T> static T apply(T a, T b) {
    return wrappingMultiply(a, b);
  }
};
template <typename T> bool isNan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(value);
  else
    return false;
}
template <typename T> bool isNegative(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::signbit(value);
  else
    return value < 0;
}
// IEEE 754's maximum and minimum. A NaN on either side is the answer: a
// comparison with NaN is false, which gives the right side. Of zeros, which
// compare equal, the negative one is the lesser.
struct Larger {
  template <typename T> static T apply(T a, T b) {
    return a > b || (a == b && !isNegative(a)) || isNan(a) ? a : b;
  }
};
struct Smaller {
  template <typename T> static T apply(T a, T b) {
    return a < b || (a == b && isNegative(a)) || isNan(a) ? a : b;
  }
};

template <typename Element, typename Operation,
          typename Accumulator = typename Element::Accumulator>
void reduceAs(const char *const *inputs, int64_t members, int64_t byteOffset,
              int64_t count, void *output, bool average) {
  using Stored = typename Element::Stored;
  using Narrow = typename Element::Accumulator;
  alignas(64) Accumulator sums[blockElements];
  auto *out = static_cast<Stored *>(output);
  for (int64_t start = 0; start < count; start += blockElements) {
    int64_t length = std::min(blockElements, count - start);
    for (int64_t r = 0; r < members; ++r) {
      const auto *in =
          reinterpret_cast<const Stored *>(inputs[r] + byteOffset) + start;
      if (r == 0)
        for (int64_t i = 0; i < length; ++i)
          sums[i] = Element::widen(in[i]);
      else
        for (int64_t i = 0; i < length; ++i)
          sums[i] =
              Operation::apply(sums[i], Accumulator(Element::widen(in[i])));
    }
    if constexpr (std::is_floating_point_v<Accumulator>)
      if (average)
        for (int64_t i = 0; i < length; ++i)
          sums[i] /= Accumulator(members);
    for (int64_t i = 0; i < length; ++i)
      out[start + i] = Element::narrow(Narrow(sums[i]));
  }
}

/// What the sum of an average is kept in: an average of finite numbers is
/// finite, and that of equal ones is the number.
template <typename T>
using Wider =
    std::conditional_t<std::is_same_v<T, double>, long double,
                       std::conditional_t<std::is_same_v<T, float>, double, T>>;

template <typename Element>
void reduceType(Reduction reduction, const char *const *inputs, int64_t members,
                int64_t byteOffset, int64_t count, void *output) {
  switch (reduction) {
  case Reduction::Sum:
    return reduceAs<Element, Add>(inputs, members, byteOffset, count, output,
                                  false);
  case Reduction::Avg:
    return reduceAs<Element, Add, Wider<typename Element::Accumulator>>(
        inputs, members, byteOffset, count, output, true);
  case Reduction::Product:
    return reduceAs<Element, Multiply>(inputs, members, byteOffset, count,
                                       output, false);
  case Reduction::Max:
    return reduceAs<Element, Larger>(inputs, members, byteOffset, count, output,
                                     false);
  case Reduction::Min:
    return reduceAs<Element, Smaller>(inputs, members, byteOffset, count,
                                      output, false);
  }
}

} // namespace

const char *tp::runtime::spelling(Reduction reduction) {
  constexpr const char *names[] = {"sum", "avg", "product", "max", "min"};
  return names[int(reduction)];
}

std::string tp::runtime::whyNotReduced(DataType type, Reduction reduction) {
  if (reduction == Reduction::Avg && !isFloat(type))
    return std::string("avg needs a float dtype, got ") + spelling(type);
  if (type == DataType::I1 && reduction != Reduction::Max &&
      reduction != Reduction::Min)
    return std::string("i1 is reduced by max (or) or min (and), got ") +
           spelling(reduction);
  return "";
}

bool tp::runtime::combinesCopies(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Product:
    return false;
  case Reduction::Avg:
  case Reduction::Max:
  case Reduction::Min:
    return true;
  }
  return false;
}

/// The bits of 1 in a float type.
static uint64_t bitsOfOne(DataType type) {
  switch (type) {
  case DataType::F64:
    return std::bit_cast<uint64_t>(1.0);
  case DataType::F32:
    return std::bit_cast<uint32_t>(1.0f);
  case DataType::F16:
    return floatToHalf(1.0f);
  case DataType::BF16:
    return floatToBfloat(1.0f);
  default:
    return floatToFloat8(type, 1.0f);
  }
}

std::array<char, 8> tp::runtime::identityOf(DataType type,
                                            Reduction reduction) {
  uint64_t bits = 0;
  // -0.0 + x is x for both zeros. Two formats have one zero alone.
  bool hasNegativeZero = isFloat(type) && type != DataType::F8E4M3FNUZ &&
                         type != DataType::F8E5M2FNUZ;
  if (reduction == Reduction::Product)
    bits = isFloat(type) ? bitsOfOne(type) : 1;
  else if (hasNegativeZero)
    bits = uint64_t(1) << (byteSize(type) * 8 - 1);
  std::array<char, 8> bytes;
  std::memcpy(bytes.data(), &bits, sizeof bits);
  return bytes;
}

void tp::runtime::reduce(DataType type, Reduction reduction,
                         const char *const *inputs, int64_t members,
                         int64_t byteOffset, int64_t count, void *output) {
  auto call = [&](auto element) {
    reduceType<decltype(element)>(reduction, inputs, members, byteOffset, count,
                                  output);
  };
  switch (type) {
  case DataType::F64:
    return call(Plain<double>());
  case DataType::F32:
    return call(Plain<float>());
  case DataType::F16:
    return call(Half());
  case DataType::BF16:
    return call(Bfloat());
  case DataType::I64:
  case DataType::Index:
    return call(Plain<int64_t>());
  case DataType::I32:
    return call(Plain<int32_t>());
  case DataType::I16:
    return call(Plain<int16_t>());
  case DataType::I8:
  case DataType::I1:
    return call(Plain<int8_t>());
  case DataType::U64:
    return call(Plain<uint64_t>());
  case DataType::U32:
    return call(Plain<uint32_t>());
  case DataType::U16:
    return call(Plain<uint16_t>());
  case DataType::U8:
    return call(Plain<uint8_t>());
  case DataType::F8E4M3FN:
    return call(Float8<DataType::F8E4M3FN>());
  case DataType::F8E5M2:
    return call(Float8<DataType::F8E5M2>());
  case DataType::F8E4M3FNUZ:
    return call(Float8<DataType::F8E4M3FNUZ>());
  case DataType::F8E5M2FNUZ:
    return call(Float8<DataType::F8E5M2FNUZ>());
  }
}

//===- LoopBodies.h - the loops, for one set of instructions ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that includes this is compiled with the options of its instructions.
// Everything is static, see VectorLoops.h. Vectors of 16 are split by the
// compiler where registers are shorter.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_LOOPBODIES_H
#define TP_RUNTIME_CORE_LOOPBODIES_H

#include "Product.h"
#include "VectorLoops.h"

namespace {

constexpr int64_t width = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef float FloatsInMemory
    __attribute__((vector_size(64), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint16_t Bits __attribute__((vector_size(32)));
typedef uint16_t BitsInMemory
    __attribute__((vector_size(32), aligned(2), may_alias));

#define TP_INLINE static inline __attribute__((always_inline))

TP_INLINE Floats load(const float *from) {
  return *reinterpret_cast<const FloatsInMemory *>(from);
}
TP_INLINE void store(Floats value, float *to) {
  *reinterpret_cast<FloatsInMemory *>(to) = value;
}

/// Two vectors.
struct Pair {
  Floats first, second;
};

TP_INLINE Pair loadPair(const float *from) {
  return {load(from), load(from + width)};
}

struct Singles {
  using Element = float;
  static constexpr bool splits = false;
  TP_INLINE Floats widenFrom(const float *from) { return load(from); }
  TP_INLINE Floats widenInAnyOrder(const float *from) { return load(from); }
  TP_INLINE Floats inThatOrder(Floats values) { return values; }
  TP_INLINE Pair widenPair(const float *from) { return loadPair(from); }
  TP_INLINE float widenOne(float element) { return element; }
};

struct BFloats {
  TP_INLINE Floats widen(Bits bits) {
    return reinterpret_cast<Floats>(__builtin_convertvector(bits, Words) << 16);
  }
  TP_INLINE Bits round(Floats value) {
    auto words = reinterpret_cast<Words>(value);
    Words upper = words >> 16;
    auto isNaN = reinterpret_cast<Words>(value != value);
    Words rounded = (words + (upper & 1) + 0x7fff) >> 16;
    return __builtin_convertvector(
        (isNaN & (upper | 0x40)) | (~isNaN & rounded), Bits);
  }
};

struct Halves {
#ifdef __F16C__
  TP_INLINE Bits round(Floats value) {
    typedef _Float16 Vector __attribute__((vector_size(32)));
    return reinterpret_cast<Bits>(__builtin_convertvector(value, Vector));
  }
#endif
  TP_INLINE Floats widen(Bits bits) {
#ifdef __F16C__
    typedef _Float16 Vector __attribute__((vector_size(32)));
    return __builtin_convertvector(reinterpret_cast<Vector>(bits), Floats);
#else
    // A half's exponent is 112 less than a float's; the product is exact, of
    // denormal numbers too. Those with the largest exponent are infinite or
    // NaN.
    Words words = __builtin_convertvector(bits, Words);
    Words magnitude = (words & 0x7fff) << 13;
    auto value =
        reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) * 0x1p112f);
    auto special = reinterpret_cast<Words>(magnitude >= uint32_t(0x7c00) << 13);
    value = (special & (magnitude | 0x7f800000)) | (~special & value);
    return reinterpret_cast<Floats>(value | (words & 0x8000) << 16);
#endif
  }
};

template <typename Type> TP_INLINE Floats widenFrom(const uint16_t *from) {
  return Type::widen(*reinterpret_cast<const BitsInMemory *>(from));
}

template <typename Type> TP_INLINE Pair widenPair(const uint16_t *from) {
  return {widenFrom<Type>(from), widenFrom<Type>(from + width)};
}

template <typename Type> TP_INLINE float widenOne(uint16_t bits) {
  return Type::widen(Bits{bits})[0];
}

// The sums and the elements of B fill the registers. With few registers each
// element serves few sums, and a library is faster from some rows on. Sums in
// `Lanes` take one register each.
#if defined(__AVX512F__)
typedef Floats Lanes;
constexpr int mostLanes = 16;
constexpr int mostSums = 16, rowsAtOnce = 4, columnsAtOnce = 4;
constexpr int64_t mostRows = tp::runtime::mostFewRows;
#elif defined(__AVX2__)
typedef Half Lanes;
constexpr int mostLanes = 12;
constexpr int mostSums = 4, rowsAtOnce = 3, columnsAtOnce = 2;
constexpr int64_t mostRows = 24;
#else
typedef Floats Lanes;
constexpr int mostLanes = 2;
constexpr int mostSums = 2, rowsAtOnce = 2, columnsAtOnce = 1;
constexpr int64_t mostRows = 24;
#endif
static_assert(mostRows <= tp::runtime::mostFewRows);

/// Adds the products of two vectors to a sum. Where that has fewer lanes,
/// several products go to one.
TP_INLINE void addProducts(Lanes &sum, Floats a, Floats b) {
  constexpr int count = sizeof(Floats) / sizeof(Lanes);
  struct Parts {
    Lanes of[count];
  };
  auto left = __builtin_bit_cast(Parts, a);
  auto right = __builtin_bit_cast(Parts, b);
  for (int i = 0; i < count; ++i)
    sum += left.of[i] * right.of[i];
}

/// How many rows further each of several streams begins. An odd number, so that
/// their elements are in different sets of a cache; what is left over is less
/// than two rows for each stream.
TP_INLINE int64_t partOf(int64_t rows, int64_t streams) {
  int64_t part = rows / streams;
  return part % 2 == 0 && part > 0 ? part - 1 : part;
}

template <typename Type>
static void widenAll(const uint16_t *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + width <= count; i += width)
    store(widenFrom<Type>(from + i), to + i);
  for (; i < count; ++i)
    to[i] = widenOne<Type>(from[i]);
}

template <typename Type>
static void roundAll(const float *from, int64_t count, uint16_t *to) {
  int64_t i = 0;
  for (; i + width <= count; i += width)
    *reinterpret_cast<BitsInMemory *>(to + i) = Type::round(load(from + i));
  Floats rest = {};
  for (int64_t lane = 0; lane < count - i; ++lane)
    rest[lane] = from[i + lane];
  Bits bits = Type::round(rest);
  for (int64_t lane = 0; lane < count - i; ++lane)
    to[i + lane] = bits[lane];
}

template <typename Type>
constexpr void (*roundingOf)(const float *, int64_t,
                             uint16_t *) = roundAll<Type>;
#ifndef __F16C__
template <>
constexpr void (*roundingOf<Halves>)(const float *, int64_t,
                                     uint16_t *) = nullptr;
#endif

/// Adds `depth` rows of B, each times an element of every row of A.
template <typename Type, int depth>
TP_INLINE void addRows(const float *a, int64_t m, int64_t k, const uint16_t *b,
                       int64_t ldb, int64_t n, float *sums) {
  int64_t j = 0;
  for (; j + width <= n; j += width) {
    Floats right[depth];
    for (int l = 0; l < depth; ++l)
      right[l] = widenFrom<Type>(b + l * ldb + j);
    for (int64_t i = 0; i < m; ++i) {
      Floats sum = load(sums + i * n + j);
      for (int l = 0; l < depth; ++l)
        sum += a[i * k + l] * right[l];
      store(sum, sums + i * n + j);
    }
  }
  for (; j < n; ++j)
    for (int l = 0; l < depth; ++l) {
      float right = widenOne<Type>(b[l * ldb + j]);
      for (int64_t i = 0; i < m; ++i)
        sums[i * n + j] += a[i * k + l] * right;
    }
}

template <typename Type>
static void addRowsTimesColumns(const float *a, int64_t m, int64_t k,
                                const uint16_t *b, int64_t ldb, int64_t n,
                                float *sums) {
  int64_t l = 0;
  for (; l + 8 <= k; l += 8)
    addRows<Type, 8>(a + l, m, k, b + l * ldb, ldb, n, sums);
  for (; l < k; ++l)
    addRows<Type, 1>(a + l, m, k, b + l * ldb, ldb, n, sums);
}

} // namespace

#include "HeadBodies.h"
#include "RowBodies.h"
#include "TileBodies.h"

namespace {

TP_INLINE Floats select(Words mask, Floats a, Floats b) {
  return reinterpret_cast<Floats>((mask & reinterpret_cast<Words>(a)) |
                                  (~mask & reinterpret_cast<Words>(b)));
}

TP_INLINE Floats splat(float value) { return value - Floats{}; }

TP_INLINE Floats larger(Floats a, Floats b) {
  return select(reinterpret_cast<Words>(b > a), b, a);
}

/// Some elements of a row that ends; the others are minus infinity.
TP_INLINE Floats loadRest(const float *from, int64_t count) {
  Floats rest = splat(-__builtin_inff());
  for (int64_t lane = 0; lane < count; ++lane)
    rest[lane] = from[lane];
  return rest;
}

static float maximum(const float *row, int64_t count) {
  Floats largest = splat(-__builtin_inff());
  int64_t i = 0;
  for (; i + width <= count; i += width)
    largest = larger(largest, load(row + i));
  largest = larger(largest, loadRest(row + i, count - i));
  float result = largest[0];
  for (int64_t lane = 1; lane < width; ++lane)
    result = largest[lane] > result ? largest[lane] : result;
  return result;
}

/// exp(x) of numbers that are not above 0.
TP_INLINE Floats exponential(Floats x) {
  // Below, the result is no normal number.
  auto vanishes = reinterpret_cast<Words>(x < -87.3f);
  auto isNaN = reinterpret_cast<Words>(x != x);
  Floats y = select(vanishes | isNaN, Floats{}, x);
  // x = n ln 2 + rest; adding 1.5 * 2^23 leaves n in the last bits.
  constexpr float shifter = 12582912.0f;
  Floats shifted = y * 1.44269504f + shifter;
  Floats n = shifted - shifter;
  Floats rest = y - n * 0.693359375f;
  rest = rest - n * -2.12194440e-4f;
  Floats sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
  sum = sum * rest + 8.3334519073e-3f;
  sum = sum * rest + 4.1665795894e-2f;
  sum = sum * rest + 1.6666665459e-1f;
  sum = sum * rest + 5.0000001201e-1f;
  sum = sum * (rest * rest) + rest + 1.0f;
  Words power = (reinterpret_cast<Words>(shifted) -
                 reinterpret_cast<Words>(splat(shifter)))
                << 23;
  auto result = reinterpret_cast<Floats>(reinterpret_cast<Words>(sum) + power);
  return select(isNaN, x, select(vanishes, Floats{}, result));
}

static float exponentials(float *row, int64_t count, float shift) {
  Floats total = {};
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    Floats value = exponential(load(row + i) - shift);
    store(value, row + i);
    total += value;
  }
  Floats rest = exponential(loadRest(row + i, count - i) - shift);
  for (int64_t lane = 0; lane < count - i; ++lane)
    row[i + lane] = rest[lane];
  float sum = 0;
  for (int64_t lane = 0; lane < width; ++lane)
    sum += total[lane] + (lane < count - i ? rest[lane] : 0.0f);
  return sum;
}

static void gradient(const float *weights, float *products, int64_t count,
                     float mean) {
  int64_t i = 0;
  for (; i + width <= count; i += width)
    store(load(weights + i) * (load(products + i) - mean), products + i);
  for (; i < count; ++i)
    products[i] = weights[i] * (products[i] - mean);
}

#undef TP_INLINE

template <typename Type>
constexpr tp::runtime::NarrowLoops narrow = {widenAll<Type>,
                                             roundingOf<Type>,
                                             addRowsTimesRows<Narrow<Type>>,
                                             addRowsTimesColumns<Type>,
                                             {tileColumns, fewTileRows,
                                              widenPanels<Type>, timesPanel,
                                              timesColumns<Type>}};
constexpr tp::runtime::VectorLoops loops = {narrow<Halves>,
                                            narrow<BFloats>,
                                            addRowsTimesRows<Singles>,
                                            addVeryFewTimesColumns,
                                            {maximum, exponentials, gradient},
                                            mostRows};

} // namespace

#endif // TP_RUNTIME_CORE_LOOPBODIES_H

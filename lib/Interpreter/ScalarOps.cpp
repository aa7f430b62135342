//===- ScalarOps.cpp - arith and math on lanes ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16, bf16 and f8 are computed in float and rounded after every op, which
// gives the right rounding for the four basic operations and square roots.
// Functions are computed in double.
//
//===----------------------------------------------------------------------===//

#include "LaneFunctions.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

/// Integer division: an error where the divisor is zero.
template <auto function>
static void division(const Instr &instr, BodyState &state, int lanes) {
  int64_t *to = lanesOf<int64_t>(state, instr.to);
  const int64_t *a = lanesOf<int64_t>(state, instr.from[0]);
  const int64_t *b = lanesOf<int64_t>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i) {
    to[i] = 0;
    if (b[i] != 0)
      to[i] = static_cast<int64_t>(function(a[i], b[i], instr.immediate));
    else if (!state.missed[i])
      return state.failOnData(instr.op, "divides by zero");
  }
}

/// The operands but the first are of the result's type.
template <typename T, typename First, auto function>
static void ternary(const Instr &instr, BodyState &state, int lanes) {
  T *to = lanesOf<T>(state, instr.to);
  const First *a = lanesOf<First>(state, instr.from[0]);
  const T *b = lanesOf<T>(state, instr.from[1]);
  const T *c = lanesOf<T>(state, instr.from[2]);
  for (int i = 0; i < lanes; ++i)
    to[i] = function(a[i], b[i], c[i]);
}

/// Of numbers whose product is exact in double.
static float multiplyAddNarrow(float a, float b, float c) {
  double product = double(a) * b, sum = product + c;
  double part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  // Between two numbers the odd one stands for all that are inside.
  auto bits = llvm::bit_cast<uint64_t>(sum);
  if (error < 0 || error > 0)
    bits = (bits - (std::signbit(error) != std::signbit(sum))) | 1;
  return roundToOdd(llvm::bit_cast<double>(bits));
}

template <typename T>
static void powerOfInteger(const Instr &instr, BodyState &state, int lanes) {
  T *to = lanesOf<T>(state, instr.to);
  const T *a = lanesOf<T>(state, instr.from[0]);
  const int64_t *b = lanesOf<int64_t>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<T>(
        std::pow(static_cast<double>(a[i]), static_cast<double>(b[i])));
}

//===----------------------------------------------------------------------===//
// Ops by name
//===----------------------------------------------------------------------===//

namespace {
/// The kernels of one op for operands of every storage.
struct Kernels {
  LaneFunction onFloat = nullptr, onDouble = nullptr, onInt = nullptr;
};
} // namespace

template <auto function> static Kernels realUnary() {
  return {unary<float, float, function>, unary<double, double, function>,
          nullptr};
}
template <auto function> static Kernels realBinary() {
  return {binary<float, float, function>, binary<double, double, function>,
          nullptr};
}
template <auto function> static Kernels realTernary() {
  return {ternary<float, float, function>, ternary<double, double, function>,
          nullptr};
}
template <auto function> static Kernels realTest() {
  return {unary<int64_t, float, function>, unary<int64_t, double, function>,
          nullptr};
}
template <auto function> static Kernels integer() {
  return {nullptr, nullptr, binaryWidth<function>};
}
template <auto function> static Kernels integerDivision() {
  return {nullptr, nullptr, division<function>};
}

/// A unary function of <cmath>, in double.
#define REAL_FUNCTION(expression)                                              \
  realUnary<[](double x) -> double { return expression; }>()

template <typename T> static T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<T>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> static T minimum(T a, T b) { return -maximum(-a, -b); }

/// Wraps; of a negative exponent what is left of 1 / base^-exponent.
static uint64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0 && base != 1 && base != -1)
    return 0;
  uint64_t result = 1, square = base;
  for (uint64_t rest = exponent; rest; rest >>= 1, square *= square)
    if (rest & 1)
      result *= square;
  return result;
}

// Division of the smallest integer by -1 overflows; it wraps here.
static int64_t quotient(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
static int64_t remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

static void addRealOps(llvm::StringMap<Kernels> &ops) {
  ops["arith.addf"] = realBinary<[](auto a, auto b) { return a + b; }>();
  ops["arith.subf"] = realBinary<[](auto a, auto b) { return a - b; }>();
  ops["arith.mulf"] = realBinary<[](auto a, auto b) { return a * b; }>();
  ops["arith.divf"] = realBinary<[](auto a, auto b) { return a / b; }>();
  ops["arith.remf"] =
      realBinary<[](auto a, auto b) { return std::fmod(a, b); }>();
  ops["arith.maximumf"] =
      realBinary<[](auto a, auto b) { return maximum(a, b); }>();
  ops["arith.minimumf"] =
      realBinary<[](auto a, auto b) { return minimum(a, b); }>();
  ops["arith.maxnumf"] =
      realBinary<[](auto a, auto b) { return std::fmax(a, b); }>();
  ops["arith.minnumf"] =
      realBinary<[](auto a, auto b) { return std::fmin(a, b); }>();
  ops["arith.negf"] = realUnary<[](auto a) { return -a; }>();
  ops["math.absf"] = realUnary<[](auto a) { return std::fabs(a); }>();
  ops["math.sqrt"] = realUnary<[](auto a) { return std::sqrt(a); }>();
  ops["math.ceil"] = realUnary<[](auto a) { return std::ceil(a); }>();
  ops["math.floor"] = realUnary<[](auto a) { return std::floor(a); }>();
  ops["math.round"] = realUnary<[](auto a) { return std::round(a); }>();
  ops["math.roundeven"] = realUnary<[](auto a) { return std::nearbyint(a); }>();
  ops["math.trunc"] = realUnary<[](auto a) { return std::trunc(a); }>();
  ops["math.copysign"] =
      realBinary<[](auto a, auto b) { return std::copysign(a, b); }>();
  ops["math.fma"] =
      realTernary<[](auto a, auto b, auto c) { return std::fma(a, b, c); }>();
  // As the dialect defines the op: max(min(value, low), high).
  ops["math.clampf"] = realTernary<[](auto value, auto low, auto high) {
    return maximum(minimum(value, low), high);
  }>();
  ops["math.isnan"] = realTest<[](auto a) { return std::isnan(a); }>();
  ops["math.isinf"] = realTest<[](auto a) { return std::isinf(a); }>();
  ops["math.isfinite"] = realTest<[](auto a) { return std::isfinite(a); }>();
  ops["math.isnormal"] = realTest<[](auto a) { return std::isnormal(a); }>();
  ops["math.rsqrt"] = REAL_FUNCTION(1.0 / std::sqrt(x));
  ops["math.cbrt"] = REAL_FUNCTION(std::cbrt(x));
  ops["math.exp"] = REAL_FUNCTION(std::exp(x));
  ops["math.exp2"] = REAL_FUNCTION(std::exp2(x));
  ops["math.expm1"] = REAL_FUNCTION(std::expm1(x));
  ops["math.log"] = REAL_FUNCTION(std::log(x));
  ops["math.log2"] = REAL_FUNCTION(std::log2(x));
  ops["math.log10"] = REAL_FUNCTION(std::log10(x));
  ops["math.log1p"] = REAL_FUNCTION(std::log1p(x));
  ops["math.sin"] = REAL_FUNCTION(std::sin(x));
  ops["math.cos"] = REAL_FUNCTION(std::cos(x));
  ops["math.tan"] = REAL_FUNCTION(std::tan(x));
  ops["math.asin"] = REAL_FUNCTION(std::asin(x));
  ops["math.acos"] = REAL_FUNCTION(std::acos(x));
  ops["math.atan"] = REAL_FUNCTION(std::atan(x));
  ops["math.sinh"] = REAL_FUNCTION(std::sinh(x));
  ops["math.cosh"] = REAL_FUNCTION(std::cosh(x));
  ops["math.tanh"] = REAL_FUNCTION(std::tanh(x));
  ops["math.asinh"] = REAL_FUNCTION(std::asinh(x));
  ops["math.acosh"] = REAL_FUNCTION(std::acosh(x));
  ops["math.atanh"] = REAL_FUNCTION(std::atanh(x));
  ops["math.erf"] = REAL_FUNCTION(std::erf(x));
  ops["math.erfc"] = REAL_FUNCTION(std::erfc(x));
  ops["math.powf"] =
      realBinary<[](double a, double b) { return std::pow(a, b); }>();
  ops["math.atan2"] =
      realBinary<[](double a, double b) { return std::atan2(a, b); }>();
  ops["math.fpowi"] = {powerOfInteger<float>, powerOfInteger<double>, nullptr};
}

static void addIntegerOps(llvm::StringMap<Kernels> &ops) {
  using I = int64_t;
  using U = uint64_t;
  ops["arith.addi"] = integer<[](U a, U b, I) { return a + b; }>();
  ops["arith.subi"] = integer<[](U a, U b, I) { return a - b; }>();
  ops["arith.muli"] = integer<[](U a, U b, I) { return a * b; }>();
  ops["arith.andi"] = integer<[](U a, U b, I) { return a & b; }>();
  ops["arith.ori"] = integer<[](U a, U b, I) { return a | b; }>();
  ops["arith.xori"] = integer<[](U a, U b, I) { return a ^ b; }>();
  ops["arith.maxsi"] = integer<[](I a, I b, I w) {
    return signedValue(a, w) > signedValue(b, w) ? a : b;
  }>();
  ops["arith.minsi"] = integer<[](I a, I b, I w) {
    return signedValue(a, w) < signedValue(b, w) ? a : b;
  }>();
  ops["arith.maxui"] = integer<[](I a, I b, I w) {
    return unsignedValue(a, w) > unsignedValue(b, w) ? a : b;
  }>();
  ops["arith.minui"] = integer<[](I a, I b, I w) {
    return unsignedValue(a, w) < unsignedValue(b, w) ? a : b;
  }>();
  // Shifts by the width or more are poison; they give zero here.
  ops["arith.shli"] = integer<[](U a, U b, I w) {
    return b < static_cast<U>(w) ? a << b : 0;
  }>();
  ops["arith.shrsi"] = integer<[](I a, I b, I w) -> I {
    return static_cast<U>(b) < static_cast<U>(w) ? signedValue(a, w) >> b : 0;
  }>();
  ops["arith.shrui"] = integer<[](I a, I b, I w) -> U {
    return static_cast<U>(b) < static_cast<U>(w) ? unsignedValue(a, w) >> b : 0;
  }>();
  ops["arith.divsi"] = integerDivision<[](I a, I b, I w) {
    return quotient(signedValue(a, w), signedValue(b, w));
  }>();
  ops["arith.remsi"] = integerDivision<[](I a, I b, I w) {
    return remainder(signedValue(a, w), signedValue(b, w));
  }>();
  ops["arith.divui"] = integerDivision<[](I a, I b, I w) {
    return unsignedValue(a, w) / unsignedValue(b, w);
  }>();
  ops["arith.remui"] = integerDivision<[](I a, I b, I w) {
    return unsignedValue(a, w) % unsignedValue(b, w);
  }>();
  ops["arith.floordivsi"] = integerDivision<[](I a, I b, I w) {
    a = signedValue(a, w), b = signedValue(b, w);
    return quotient(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0));
  }>();
  ops["arith.ceildivsi"] = integerDivision<[](I a, I b, I w) {
    a = signedValue(a, w), b = signedValue(b, w);
    return quotient(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0));
  }>();
  ops["arith.ceildivui"] = integerDivision<[](I a, I b, I w) {
    U x = unsignedValue(a, w), y = unsignedValue(b, w);
    return x / y + (x % y != 0);
  }>();
  ops["math.ipowi"] = integer<[](I a, I b, I w) {
    return integerPower(signedValue(a, w), signedValue(b, w));
  }>();
  ops["math.ctpop"] = {nullptr, nullptr, unaryWidth<I, I, [](I a, I w) {
                         return llvm::popcount<U>(unsignedValue(a, w));
                       }>};
  ops["math.ctlz"] = {nullptr, nullptr, unaryWidth<I, I, [](I a, I w) {
                        return llvm::countl_zero<U>(unsignedValue(a, w)) -
                               (64 - w);
                      }>};
  ops["math.cttz"] = {nullptr, nullptr, unaryWidth<I, I, [](I a, I w) {
                        return std::min<I>(
                            llvm::countr_zero<U>(unsignedValue(a, w)), w);
                      }>};
  ops["math.absi"] = {nullptr, nullptr, unaryWidth<I, I, [](I a, I w) {
                        I value = signedValue(a, w);
                        return value < 0 ? U(0) - static_cast<U>(value)
                                         : static_cast<U>(value);
                      }>};
}

static const llvm::StringMap<Kernels> &opsByName() {
  static const llvm::StringMap<Kernels> ops = [] {
    llvm::StringMap<Kernels> ops;
    addRealOps(ops);
    addIntegerOps(ops);
    constexpr auto choose = [](int64_t condition, auto a, auto b) {
      return condition ? a : b;
    };
    ops["arith.select"] = {ternary<float, int64_t, choose>,
                           ternary<double, int64_t, choose>,
                           ternary<int64_t, int64_t, choose>};
    return ops;
  }();
  return ops;
}

Instr simulator::scalarInstr(Operation *op) {
  Instr instr;
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      op->getNumOperands() > 3)
    return instr;
  StringRef name = op->getName().getStringRef();
  bool isSelect = name == "arith.select";
  Type from = getElementTypeOrSelf(op->getOperand(isSelect ? 1 : 0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  ElementStorage storage = *storageOf(from);
  bool fromInteger = isa<IntegerType, IndexType>(from);
  if (fromInteger)
    instr.immediate = integerWidth(from);
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    instr.kernel = compareReals(compare.getPredicate(), storage);
    return instr;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    instr.kernel = compareIntegers(compare.getPredicate());
    return instr;
  }
  if (name == "math.fma" && from.getIntOrFloatBitWidth() < 32) {
    instr.kernel = ternary<float, float, multiplyAddNarrow>;
    return instr;
  }
  auto it = opsByName().find(name);
  if (it != opsByName().end()) {
    const Kernels &kernels = it->second;
    instr.kernel = storage == ElementStorage::Float    ? kernels.onFloat
                   : storage == ElementStorage::Double ? kernels.onDouble
                                                       : kernels.onInt;
    return instr;
  }
  if (name == "arith.bitcast" &&
      (from.getIntOrFloatBitWidth() < 32 || to.getIntOrFloatBitWidth() < 32)) {
    return bitcastNarrow(from, to);
  }
  if (auto truncation = dyn_cast<arith::TruncFOp>(op);
      truncation && truncation.getRoundingmode().value_or(
                        arith::RoundingMode::to_nearest_even) !=
                        arith::RoundingMode::to_nearest_even)
    return instr;
  instr.kernel = conversion(name, storage, to);
  if (!fromInteger && isa<IntegerType>(to))
    instr.immediate = integerWidth(to);
  return instr;
}

template <auto round>
static void roundLanes(const Instr &instr, BodyState &state, int lanes) {
  float *to = lanesOf<float>(state, instr.to);
  for (int i = 0; i < lanes; ++i)
    to[i] = round(to[i]);
}

static float roundToBF16(float value) {
  if (std::isnan(value))
    return value;
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  bits += 0x7fff + ((bits >> 16) & 1);
  return llvm::bit_cast<float>(bits & 0xffff0000u);
}

static float roundThrough(float value, const llvm::fltSemantics &semantics) {
  bool lost;
  APFloat number(value);
  number.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
  number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToFloat();
}

static float roundToF16(float value) {
  return roundThrough(value, APFloat::IEEEhalf());
}

/// Any other float type; `immediate` says which.
static void roundLanesToFormat(const Instr &instr, BodyState &state,
                               int lanes) {
  const llvm::fltSemantics &semantics = APFloat::EnumToSemantics(
      static_cast<APFloat::Semantics>(instr.immediate));
  float *to = lanesOf<float>(state, instr.to);
  for (int i = 0; i < lanes; ++i)
    to[i] = roundThrough(to[i], semantics);
}

Instr simulator::normalizeInstr(Type type) {
  Instr instr;
  if (type.isBF16())
    instr.kernel = roundLanes<roundToBF16>;
  else if (type.isF16())
    instr.kernel = roundLanes<roundToF16>;
  else if (auto real = dyn_cast<FloatType>(type)) {
    if (real.getWidth() < 16) {
      instr.immediate = APFloat::SemanticsToEnum(real.getFloatSemantics());
      instr.kernel = roundLanesToFormat;
    }
  } else if (isa<IntegerType>(type)) {
    instr.immediate = integerWidth(type);
    if (instr.immediate == 1)
      instr.kernel = unaryWidth<int64_t, int64_t, unsignedValue>;
    else if (instr.immediate < 64)
      instr.kernel = unaryWidth<int64_t, int64_t, signedValue>;
  }
  return instr;
}

//===- ScalarOps.cpp - arith and math on lanes ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 and bf16 are computed in float and rounded after every op, which gives
// the right rounding for the four basic operations and square roots. Functions
// are computed in double.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

template <typename T> static T *lanesOf(BodyState &state, unsigned reg) {
  if constexpr (std::is_same_v<T, float>)
    return state.registers[reg].floats;
  else if constexpr (std::is_same_v<T, double>)
    return state.registers[reg].doubles;
  else
    return state.registers[reg].integers;
}

static int64_t signedValue(int64_t value, int64_t width) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >>
         (64 - width);
}
static uint64_t unsignedValue(int64_t value, int64_t width) {
  return static_cast<uint64_t>(value) << (64 - width) >> (64 - width);
}

//===----------------------------------------------------------------------===//
// Shapes of instructions
//===----------------------------------------------------------------------===//

template <typename To, typename From, auto function>
static void unary(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i]));
}

template <typename To, typename From, auto function>
static void binary(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  const From *b = lanesOf<From>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i], b[i]));
}

/// A conversion, or an integer op, that depends on the operands' width.
template <typename To, typename From, auto function>
static void unaryWidth(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i], instr.immediate));
}

template <auto function>
static void binaryWidth(const Instr &instr, BodyState &state, int lanes) {
  int64_t *to = lanesOf<int64_t>(state, instr.to);
  const int64_t *a = lanesOf<int64_t>(state, instr.from[0]);
  const int64_t *b = lanesOf<int64_t>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<int64_t>(function(a[i], b[i], instr.immediate));
}

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
    else if (!state.skipped[i])
      return state.fail(instr.op, "divides by zero");
  }
}

template <typename T>
static void select(const Instr &instr, BodyState &state, int lanes) {
  T *to = lanesOf<T>(state, instr.to);
  const int64_t *condition = lanesOf<int64_t>(state, instr.from[0]);
  const T *a = lanesOf<T>(state, instr.from[1]);
  const T *b = lanesOf<T>(state, instr.from[2]);
  for (int i = 0; i < lanes; ++i)
    to[i] = condition[i] ? a[i] : b[i];
}

template <typename T>
static void multiplyAdd(const Instr &instr, BodyState &state, int lanes) {
  T *to = lanesOf<T>(state, instr.to);
  const T *a = lanesOf<T>(state, instr.from[0]);
  const T *b = lanesOf<T>(state, instr.from[1]);
  const T *c = lanesOf<T>(state, instr.from[2]);
  for (int i = 0; i < lanes; ++i)
    to[i] = std::fma(a[i], b[i], c[i]);
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
  Kernel onFloat = nullptr, onDouble = nullptr, onInt = nullptr;
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
  ops["math.fma"] = {multiplyAdd<float>, multiplyAdd<double>, nullptr};
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
    ops["arith.select"] = {select<float>, select<double>, select<int64_t>};
    return ops;
  }();
  return ops;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

template <typename T> static Kernel compareReals(arith::CmpFPredicate kind) {
  using P = arith::CmpFPredicate;
  // An unordered comparison is the negation of the opposite ordered one.
  switch (kind) {
  case P::AlwaysFalse:
    return binary<int64_t, T, [](T, T) { return false; }>;
  case P::AlwaysTrue:
    return binary<int64_t, T, [](T, T) { return true; }>;
  case P::OEQ:
    return binary<int64_t, T, [](T a, T b) { return a == b; }>;
  case P::OGT:
    return binary<int64_t, T, [](T a, T b) { return a > b; }>;
  case P::OGE:
    return binary<int64_t, T, [](T a, T b) { return a >= b; }>;
  case P::OLT:
    return binary<int64_t, T, [](T a, T b) { return a < b; }>;
  case P::OLE:
    return binary<int64_t, T, [](T a, T b) { return a <= b; }>;
  case P::ONE:
    return binary<int64_t, T, [](T a, T b) { return a < b || a > b; }>;
  case P::ORD:
    return binary<int64_t, T, [](T a, T b) { return a == a && b == b; }>;
  case P::UEQ:
    return binary<int64_t, T, [](T a, T b) { return !(a < b || a > b); }>;
  case P::UGT:
    return binary<int64_t, T, [](T a, T b) { return !(a <= b); }>;
  case P::UGE:
    return binary<int64_t, T, [](T a, T b) { return !(a < b); }>;
  case P::ULT:
    return binary<int64_t, T, [](T a, T b) { return !(a >= b); }>;
  case P::ULE:
    return binary<int64_t, T, [](T a, T b) { return !(a > b); }>;
  case P::UNE:
    return binary<int64_t, T, [](T a, T b) { return a != b; }>;
  case P::UNO:
    return binary<int64_t, T, [](T a, T b) { return a != a || b != b; }>;
  }
  return nullptr;
}

template <auto compare> static Kernel signedTest() {
  return binaryWidth<[](int64_t a, int64_t b, int64_t w) {
    return compare(signedValue(a, w), signedValue(b, w));
  }>;
}
template <auto compare> static Kernel unsignedTest() {
  return binaryWidth<[](int64_t a, int64_t b, int64_t w) {
    return compare(unsignedValue(a, w), unsignedValue(b, w));
  }>;
}

static Kernel compareIntegers(arith::CmpIPredicate kind) {
  using P = arith::CmpIPredicate;
  switch (kind) {
  case P::eq:
    return signedTest<[](auto a, auto b) { return a == b; }>();
  case P::ne:
    return signedTest<[](auto a, auto b) { return a != b; }>();
  case P::slt:
    return signedTest<[](auto a, auto b) { return a < b; }>();
  case P::sle:
    return signedTest<[](auto a, auto b) { return a <= b; }>();
  case P::sgt:
    return signedTest<[](auto a, auto b) { return a > b; }>();
  case P::sge:
    return signedTest<[](auto a, auto b) { return a >= b; }>();
  case P::ult:
    return unsignedTest<[](auto a, auto b) { return a < b; }>();
  case P::ule:
    return unsignedTest<[](auto a, auto b) { return a <= b; }>();
  case P::ugt:
    return unsignedTest<[](auto a, auto b) { return a > b; }>();
  case P::uge:
    return unsignedTest<[](auto a, auto b) { return a >= b; }>();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <auto function, typename From> static Kernel toReal(Storage to) {
  if (to == Storage::Float)
    return unaryWidth<float, From, function>;
  if (to == Storage::Double)
    return unaryWidth<double, From, function>;
  return nullptr;
}

/// Out of range and NaN are poison; they give the smallest integer here.
template <typename Integer>
static int64_t realToInteger(double value, int64_t width) {
  constexpr bool isSigned = std::is_signed_v<Integer>;
  double limit = std::ldexp(1.0, static_cast<int>(width) - (isSigned ? 1 : 0));
  value = std::trunc(value);
  if (!(value < limit && value >= (isSigned ? -limit : 0.0)))
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(static_cast<Integer>(value));
}

static Kernel conversion(StringRef name, Storage from, Storage to) {
  using I = int64_t;
  constexpr auto same = [](auto a, I) { return a; };
  if (name == "arith.extf" || name == "arith.truncf")
    return from == Storage::Float ? toReal<same, float>(to)
                                  : toReal<same, double>(to);
  if (name == "arith.sitofp")
    return toReal<signedValue, I>(to);
  if (name == "arith.uitofp")
    return toReal<unsignedValue, I>(to);
  if (name == "arith.fptosi" || name == "arith.fptoui") {
    bool isSigned = name == "arith.fptosi";
    if (from == Storage::Float)
      return isSigned ? Kernel(unaryWidth<I, float, realToInteger<int64_t>>)
                      : Kernel(unaryWidth<I, float, realToInteger<uint64_t>>);
    return isSigned ? Kernel(unaryWidth<I, double, realToInteger<int64_t>>)
                    : Kernel(unaryWidth<I, double, realToInteger<uint64_t>>);
  }
  if (name == "arith.extsi" || name == "arith.index_cast" ||
      name == "arith.trunci")
    return unaryWidth<I, I, signedValue>;
  if (name == "arith.extui" || name == "arith.index_castui")
    return unaryWidth<I, I, unsignedValue>;
  if (name == "arith.bitcast") {
    if (from == to)
      return nullptr;
    if (from == Storage::Float && to == Storage::Int)
      return unary<I, float,
                   [](float a) { return llvm::bit_cast<int32_t>(a); }>;
    if (from == Storage::Double && to == Storage::Int)
      return unary<I, double,
                   [](double a) { return llvm::bit_cast<int64_t>(a); }>;
    if (to == Storage::Float)
      return unary<float, I, [](I a) {
        return llvm::bit_cast<float>(static_cast<int32_t>(a));
      }>;
    return unary<double, I, [](I a) { return llvm::bit_cast<double>(a); }>;
  }
  return nullptr;
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
  Storage storage = *storageOf(from);
  bool fromInteger = isa<IntegerType, IndexType>(from);
  if (fromInteger)
    instr.immediate = integerWidth(from);
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    instr.kernel = storage == Storage::Float
                       ? compareReals<float>(compare.getPredicate())
                       : compareReals<double>(compare.getPredicate());
    return instr;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    instr.kernel = compareIntegers(compare.getPredicate());
    return instr;
  }
  auto it = opsByName().find(name);
  if (it != opsByName().end()) {
    const Kernels &kernels = it->second;
    instr.kernel = storage == Storage::Float    ? kernels.onFloat
                   : storage == Storage::Double ? kernels.onDouble
                                                : kernels.onInt;
    return instr;
  }
  // Bits of the 16-bit floats are not kept.
  if (name == "arith.bitcast" &&
      (from.getIntOrFloatBitWidth() < 32 || to.getIntOrFloatBitWidth() < 32))
    return instr;
  instr.kernel = conversion(name, storage, *storageOf(to));
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

static float roundToF16(float value) {
  bool lost;
  APFloat number(value);
  number.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &lost);
  number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToFloat();
}

Instr simulator::normalizeInstr(Type type) {
  Instr instr;
  if (type.isBF16())
    instr.kernel = roundLanes<roundToBF16>;
  else if (type.isF16())
    instr.kernel = roundLanes<roundToF16>;
  else if (isa<IntegerType>(type)) {
    instr.immediate = integerWidth(type);
    if (instr.immediate == 1)
      instr.kernel = unaryWidth<int64_t, int64_t, unsignedValue>;
    else if (instr.immediate < 64)
      instr.kernel = unaryWidth<int64_t, int64_t, signedValue>;
  }
  return instr;
}

//===- ScalarConversions.cpp - comparisons and casts on lanes -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneFunctions.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

template <typename T>
static LaneFunction compareLanes(arith::CmpFPredicate kind) {
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

LaneFunction simulator::compareReals(arith::CmpFPredicate kind,
                                     ElementStorage storage) {
  return storage == ElementStorage::Float ? compareLanes<float>(kind)
                                          : compareLanes<double>(kind);
}

template <auto compare> static LaneFunction signedTest() {
  return binaryWidth<[](int64_t a, int64_t b, int64_t w) {
    return compare(signedValue(a, w), signedValue(b, w));
  }>;
}
template <auto compare> static LaneFunction unsignedTest() {
  return binaryWidth<[](int64_t a, int64_t b, int64_t w) {
    return compare(unsignedValue(a, w), unsignedValue(b, w));
  }>;
}

LaneFunction simulator::compareIntegers(arith::CmpIPredicate kind) {
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

template <auto function, typename From>
static LaneFunction toReal(ElementStorage to) {
  if (to == ElementStorage::Float)
    return unaryWidth<float, From, function>;
  if (to == ElementStorage::Double)
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

float simulator::roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  double back = nearest;
  if (!(back < value || back > value))
    return nearest;
  auto bits = llvm::bit_cast<uint32_t>(nearest);
  bits -= std::fabs(back) > std::fabs(value);
  return llvm::bit_cast<float>(bits | 1);
}

/// An integer as a float that rounds to narrower types like itself.
template <typename Integer> static float integerToOdd(Integer value) {
  auto number = static_cast<double>(value);
  constexpr uint64_t cut = 11;
  // A double does not hold all digits; those cut off show in the last one.
  constexpr uint64_t exact = uint64_t(1) << 53;
  uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : value;
  if (size > exact && (size & ((1 << cut) - 1)))
    number = std::copysign(
        static_cast<double>((size >> cut << cut) | uint64_t(1) << cut), number);
  return roundToOdd(number);
}

LaneFunction simulator::conversion(StringRef name, ElementStorage from,
                                   Type toType) {
  using I = int64_t;
  constexpr auto same = [](auto a, I) { return a; };
  ElementStorage to = *storageOf(toType);
  if (isa<FloatType>(toType) && toType.getIntOrFloatBitWidth() < 32) {
    if (name == "arith.truncf" && from == ElementStorage::Double)
      return unaryWidth<float, double,
                        [](double a, I) { return roundToOdd(a); }>;
    if (name == "arith.sitofp")
      return unaryWidth<float, I, [](I a, I width) {
        return integerToOdd(signedValue(a, width));
      }>;
    if (name == "arith.uitofp")
      return unaryWidth<float, I, [](I a, I width) {
        return integerToOdd(unsignedValue(a, width));
      }>;
  }
  if (name == "arith.extf" || name == "arith.truncf")
    return from == ElementStorage::Float ? toReal<same, float>(to)
                                         : toReal<same, double>(to);
  if (name == "arith.sitofp")
    return toReal<signedValue, I>(to);
  if (name == "arith.uitofp")
    return toReal<unsignedValue, I>(to);
  if (name == "arith.fptosi" || name == "arith.fptoui") {
    bool isSigned = name == "arith.fptosi";
    if (from == ElementStorage::Float)
      return isSigned
                 ? LaneFunction(unaryWidth<I, float, realToInteger<int64_t>>)
                 : LaneFunction(unaryWidth<I, float, realToInteger<uint64_t>>);
    return isSigned
               ? LaneFunction(unaryWidth<I, double, realToInteger<int64_t>>)
               : LaneFunction(unaryWidth<I, double, realToInteger<uint64_t>>);
  }
  if (name == "arith.extsi" || name == "arith.index_cast" ||
      name == "arith.trunci")
    return unaryWidth<I, I, signedValue>;
  if (name == "arith.extui" || name == "arith.index_castui")
    return unaryWidth<I, I, unsignedValue>;
  if (name == "arith.bitcast") {
    if (from == to)
      return nullptr;
    if (from == ElementStorage::Float && to == ElementStorage::Int)
      return unary<I, float,
                   [](float a) { return llvm::bit_cast<int32_t>(a); }>;
    if (from == ElementStorage::Double && to == ElementStorage::Int)
      return unary<I, double,
                   [](double a) { return llvm::bit_cast<int64_t>(a); }>;
    if (to == ElementStorage::Float)
      return unary<float, I, [](I a) {
        return llvm::bit_cast<float>(static_cast<int32_t>(a));
      }>;
    return unary<double, I, [](I a) { return llvm::bit_cast<double>(a); }>;
  }
  return nullptr;
}

/// Narrow floats are kept as the float of the same value; `immediate` says what
/// the format is.
static const llvm::fltSemantics &formatOf(const Instr &instr) {
  return APFloat::EnumToSemantics(
      static_cast<APFloat::Semantics>(instr.immediate));
}

static void bitsOfNarrow(const Instr &instr, BodyState &state, int lanes) {
  int64_t *to = lanesOf<int64_t>(state, instr.to);
  const float *from = lanesOf<float>(state, instr.from[0]);
  for (int i = 0; i < lanes; ++i) {
    bool loses = false;
    APFloat number(from[i]);
    number.convert(formatOf(instr), APFloat::rmNearestTiesToEven, &loses);
    to[i] = number.bitcastToAPInt().getSExtValue();
  }
}

static void narrowOfBits(const Instr &instr, BodyState &state, int lanes) {
  float *to = lanesOf<float>(state, instr.to);
  const int64_t *from = lanesOf<int64_t>(state, instr.from[0]);
  const llvm::fltSemantics &semantics = formatOf(instr);
  unsigned width = APFloat::semanticsSizeInBits(semantics);
  for (int i = 0; i < lanes; ++i) {
    bool loses = false;
    APFloat number(semantics, APInt(width, from[i], false, true));
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
    to[i] = number.convertToFloat();
  }
}

Instr simulator::bitcastNarrow(Type from, Type to) {
  Instr instr;
  bool fromInteger = isa<IntegerType>(from);
  auto narrow = dyn_cast<FloatType>(fromInteger ? to : from);
  if (!narrow || narrow.getWidth() > 16 ||
      !isa<IntegerType>(fromInteger ? from : to))
    return instr;
  instr.immediate = APFloat::SemanticsToEnum(narrow.getFloatSemantics());
  instr.kernel = fromInteger ? narrowOfBits : bitsOfNarrow;
  return instr;
}

//===- LaneFunctions.h - shapes of instructions -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_LANEFUNCTIONS_H
#define TP_LIB_INTERPRETER_LANEFUNCTIONS_H

#include "BodyBytecode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tp::simulator {

template <typename T> T *lanesOf(BodyState &state, unsigned reg) {
  if constexpr (std::is_same_v<T, float>)
    return state.registers[reg].floats;
  else if constexpr (std::is_same_v<T, double>)
    return state.registers[reg].doubles;
  else
    return state.registers[reg].integers;
}

inline int64_t signedValue(int64_t value, int64_t width) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >>
         (64 - width);
}
inline uint64_t unsignedValue(int64_t value, int64_t width) {
  return static_cast<uint64_t>(value) << (64 - width) >> (64 - width);
}

template <typename To, typename From, auto function>
void unary(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i]));
}

template <typename To, typename From, auto function>
void binary(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  const From *b = lanesOf<From>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i], b[i]));
}

/// A conversion, or an integer op, that depends on the operands' width.
template <typename To, typename From, auto function>
void unaryWidth(const Instr &instr, BodyState &state, int lanes) {
  To *to = lanesOf<To>(state, instr.to);
  const From *a = lanesOf<From>(state, instr.from[0]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<To>(function(a[i], instr.immediate));
}

template <auto function>
void binaryWidth(const Instr &instr, BodyState &state, int lanes) {
  int64_t *to = lanesOf<int64_t>(state, instr.to);
  const int64_t *a = lanesOf<int64_t>(state, instr.from[0]);
  const int64_t *b = lanesOf<int64_t>(state, instr.from[1]);
  for (int i = 0; i < lanes; ++i)
    to[i] = static_cast<int64_t>(function(a[i], b[i], instr.immediate));
}

LaneFunction compareReals(mlir::arith::CmpFPredicate kind,
                          ElementStorage storage);
LaneFunction compareIntegers(mlir::arith::CmpIPredicate kind);
/// The kernel of a cast of dialect arith, by its name; null where it is
/// unknown. `to` is rounded to its type afterwards, once.
LaneFunction conversion(llvm::StringRef name, ElementStorage from,
                        mlir::Type to);
/// arith.bitcast of floats of 16 or 8 bits; null for other types.
Instr bitcastNarrow(mlir::Type from, mlir::Type to);
/// The float that is nearest, or, where that is not exact, the one of the two
/// around the number whose last bit is set: rounding it to a narrower type
/// gives what rounding the number itself would have.
float roundToOdd(double value);

} // namespace tp::simulator

#endif // TP_LIB_INTERPRETER_LANEFUNCTIONS_H

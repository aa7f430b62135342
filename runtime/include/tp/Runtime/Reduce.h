//===- Reduce.h - elementwise reduction over ranks --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_REDUCE_H
#define TP_RUNTIME_REDUCE_H

#include "tp/Runtime/DataType.h"
#include <array>
#include <string>

namespace tp::runtime {

enum class Reduction { Sum, Avg, Product, Max, Min };
inline constexpr int numReductions = 5;

const char *spelling(Reduction reduction);
/// Why elements of the type are not reduced so; empty where they are.
std::string whyNotReduced(DataType type, Reduction reduction);

/// Whether equal numbers of all ranks combine to that number.
bool combinesCopies(Reduction reduction);
/// The bits of the number that changes no bit of what a sum or a product
/// combines it with, in the first bytes. The other reductions combine copies.
std::array<char, 8> identityOf(DataType type, Reduction reduction);

/// output[i] = inputs[0][i] op inputs[1][i] op ..., in this order, so that the
/// bits do not depend on who computes them. `byteOffset` is added to every
/// input. f16, bf16 and f8 are accumulated in f32 and rounded once; max and min
/// are IEEE 754's maximum and minimum: they let NaN through and order -0.0
/// below 0.0. avg divides the sum, kept in a wider format, by `members`;
/// integers wrap. `output` may be one of the inputs at the offset.
void reduce(DataType type, Reduction reduction, const char *const *inputs,
            int64_t members, int64_t byteOffset, int64_t count, void *output);

} // namespace tp::runtime

#endif // TP_RUNTIME_REDUCE_H

//===- Reduce.h - elementwise reduction over ranks --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_SEGMENT_REDUCE_H
#define TP_RUNTIME_TRANSPORT_SEGMENT_REDUCE_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// output[i] = inputs[0][i] op inputs[1][i] op ..., in this order, so that the
/// bits do not depend on who computes them. `byteOffset` is added to every
/// input. f16, bf16 and f8 are accumulated in f32 and rounded once; max and min
/// are IEEE 754's maximum and minimum: they let NaN through and order -0.0
/// below 0.0. avg divides the sum, kept in a wider format, by `members`;
/// integers wrap. `output` may be one of the inputs at the offset.
void reduce(DataType type, Reduction reduction, const char *const *inputs,
            int64_t members, int64_t byteOffset, int64_t count, void *output);

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_SEGMENT_REDUCE_H

//===- ConvertedWeights.h - weights in other floats than files --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_CONVERTEDWEIGHTS_H
#define TP_TOOLS_TP_RUN_DATA_CONVERTEDWEIGHTS_H

#include "tp/Runtime/Array.h"
#include "tp/Runtime/Port.h"

namespace tp::run {

/// Whether `to` has every number of `from`: of f16 and bf16 f32 and f64, of f32
/// f64.
bool widensExactly(runtime::DataType from, runtime::DataType to);

/// Writes the slice of a global array into `buffer`, each element in the
/// slice's type: widened, or rounded once to f16 or bf16, to nearest even.
/// Padding is left as it is. Fails where a finite element becomes infinite.
runtime::Status scatterConverted(const runtime::RankSlice &slice,
                                 const runtime::Array &array, char *buffer);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_CONVERTEDWEIGHTS_H

//===- RoundedWeights.h - weights that are stored in fewer bits -*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_ROUNDEDWEIGHTS_H
#define TP_TOOLS_TP_RUN_DATA_ROUNDEDWEIGHTS_H

#include "tp/Runtime/Array.h"
#include "tp/Runtime/Port.h"

namespace tp::run {

/// Writes the slice of a global f32 array into `buffer`, each element rounded
/// once to the slice's f16 or bf16, to nearest even. Padding is left as it is.
/// Fails where a finite element becomes infinite.
runtime::Status scatterRounded(const runtime::RankSlice &slice,
                               const runtime::Array &array, char *buffer);

/// The whole `array`, of f32, in `dtype`.
runtime::Status roundArray(runtime::Array &array, runtime::DataType dtype);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_ROUNDEDWEIGHTS_H

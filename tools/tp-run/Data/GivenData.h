//===- GivenData.h - whether two ranks are given the same -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_GIVENDATA_H
#define TP_TOOLS_TP_RUN_DATA_GIVENDATA_H

#include "Options.h"

namespace tp::run {

/// A checksum of all that decides a run's numbers besides the artifact:
/// weights, inputs, random data, steps. Files count by what they are on this
/// host, not by their path or bytes: the same file that nobody has written
/// meanwhile.
uint64_t checksumOfGivenData(const Options &options);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_GIVENDATA_H

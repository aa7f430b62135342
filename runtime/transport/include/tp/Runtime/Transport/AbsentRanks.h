//===- AbsentRanks.h - what is said of ranks that never came ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_ABSENTRANKS_H
#define TP_RUNTIME_TRANSPORT_ABSENTRANKS_H

namespace tp::runtime {

/// Comes behind the ranks that a message has named.
inline constexpr const char *adviceOnAbsentRanks =
    ": check that every rank of the run was started, and that none ended "
    "before it joined";

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_ABSENTRANKS_H

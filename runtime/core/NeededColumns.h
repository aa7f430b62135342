//===- NeededColumns.h - what a rank needs of a product ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CORE_NEEDEDCOLUMNS_H
#define TP_RUNTIME_CORE_NEEDEDCOLUMNS_H

#include "tp/Runtime/Commands.h"
#include "tp/Runtime/Port.h"

namespace tp::runtime {

/// The columns of C that `rank` computes: `command.n`, or fewer where op(B) is
/// an argument of `ports` whose last columns are padding on the rank. What is
/// made of padding is padding, which nothing reads.
int64_t neededColumns(const GemmCommand &command,
                      const std::vector<Port> &ports, const Coordinates &rank);

} // namespace tp::runtime

#endif // TP_RUNTIME_CORE_NEEDEDCOLUMNS_H

//===- Drawing.h - pictures of layouts in Python ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PYTHON_DRAWING_H
#define TP_PYTHON_DRAWING_H

#include <cstdint>
#include <string>
#include <vector>

namespace tp::python {

/// The picture of `{"mesh": ..., "port": ...}`, written as in a manifest.
/// Throws a Failure.
std::string drawSharding(const std::string &description, bool svg);

/// What each rank holds of the same: for every dimension the starts and sizes
/// of the runs of its indices, in the order of the rank's buffer. Throws a
/// Failure.
std::vector<std::vector<std::vector<int64_t>>>
heldIntervals(const std::string &description);

} // namespace tp::python

#endif // TP_PYTHON_DRAWING_H

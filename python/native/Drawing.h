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

/// The groups of ranks whose numbers together are those of the array, in the
/// order in which they are reduced: of one rank each where the port of the same
/// is not partial. Throws a Failure.
std::vector<std::vector<int64_t>>
reductionGroups(const std::string &description);

/// The bytes of the number that `rank` holds in place of every element of an
/// array that it is given; none where it holds the elements. Throws a Failure.
std::string heldIdentity(const std::string &description, int64_t rank);

/// Combines arrays of `count` elements each, one of every rank of a group.
/// Throws a Failure.
void reduceParts(const std::string &description,
                 const std::vector<const char *> &parts, int64_t count,
                 void *reduced);

} // namespace tp::python

#endif // TP_PYTHON_DRAWING_H

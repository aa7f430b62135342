//===- Slices.h - between global arrays and a rank's buffer -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_SLICES_H
#define TP_RUNTIME_SLICES_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// Copies an array of `sizes` elements of `elementBytes` each; strides are in
/// elements and may be anything. Transposes go tile by tile.
void copyStrided(const std::vector<int64_t> &sizes, int64_t elementBytes,
                 const void *source, const std::vector<int64_t> &sourceStrides,
                 void *target, const std::vector<int64_t> &targetStrides);

/// Copies rank `rank`'s boxes of a global array (strides in elements, source
/// dimension order) into its buffer, which has the port's storage order.
void scatter(const Port &port, int64_t rank, const void *global,
             const std::vector<int64_t> &globalStrides, void *buffer);

/// The reverse: from the buffer of `rank` into the global array.
void assemble(const Port &port, int64_t rank, const void *buffer, void *global,
              const std::vector<int64_t> &globalStrides);

/// One byte per element of the buffer: 1 where no box covers it. Empty if
/// there is no padding.
std::vector<uint8_t> paddingMask(const Port &port, int64_t rank);

/// One byte per element of the global array, row-major, set to 1 where a box
/// of `rank` covers it; `covered` has the global element count.
void markCovered(const Port &port, int64_t rank, std::vector<uint8_t> &covered);

} // namespace tp::runtime

#endif // TP_RUNTIME_SLICES_H

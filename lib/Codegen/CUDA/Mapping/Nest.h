//===- Nest.h - loops in segments and chunks --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest is cut into segments, boxes inside which no piece of a concatenation
// ends; a segment into chunks of neighbouring elements along its last loop.
// What does not fill a chunk is a segment of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_NEST_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_NEST_H

#include "Kernels/Stage.h"

namespace tp::cuda {

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// A box of a nest: `extents` loops from `lo`, the last one in steps of
/// `vector` elements.
struct Segment {
  llvm::SmallVector<int64_t> lo, extents;
  int64_t vector = 1;

  int64_t chunks() const;
};

/// A nest of loops as segments.
struct Nest {
  llvm::SmallVector<int64_t> extents;
  std::vector<Segment> segments;

  int64_t chunks() const;
  int64_t elements() const;
  /// Elements that each of `threads` threads computes at most.
  int64_t elementsPerThread(int64_t threads) const;
};

/// Cuts `extents` at `splits`, per loop, and into chunks of `vector` elements.
Nest cut(llvm::ArrayRef<int64_t> extents,
         llvm::ArrayRef<llvm::SmallVector<int64_t>> splits, int64_t vector);

/// Where the stages of the bundle cut its loops, behind (if `rows`) those of
/// the group's rows.
std::vector<llvm::SmallVector<int64_t>>
splitsOf(const target::Group &group, const target::Bundle &bundle, bool rows);

void sortUnique(llvm::SmallVectorImpl<int64_t> &values);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_NEST_H

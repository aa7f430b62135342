//===- KernelMapping.h - loops among the threads of a grid ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says which thread computes what (docs/cuda-kernels.md). A nest is cut into
// segments, boxes inside which no piece of a concatenation ends; a segment into
// chunks of neighbouring elements along its last loop, 16 bytes of the
// narrowest contiguous access. What does not fill a chunk is a segment of its
// own.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TARGET_CUDA_KERNELMAPPING_H
#define TP_LIB_TARGET_CUDA_KERNELMAPPING_H

#include "Stage.h"

namespace tp::cuda {

/// Threads of a warp, and the most of a block that tp starts.
inline constexpr int64_t warpSize = 32, mostThreads = 512;
/// Shared memory that every launch may have without asking, in bytes.
inline constexpr int64_t mostSharedBytes = 48 * 1024;

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

enum class Mapping {
  /// No reduction: a thread per chunk of rows and bundle together.
  Pointwise,
  /// A team of threads per row.
  Rows,
  /// A reduction over the rows of a matrix: columns over the threads of a warp,
  /// rows over warps.
  Columns,
};

struct KernelMapping {
  Mapping kind = Mapping::Pointwise;
  /// Threads that share a row: 1, 32, or all of a block.
  int64_t team = 1;
  int64_t block = 256;
  /// Pointwise: the one nest. Rows: one per bundle, of its loops inside the
  /// rows. Columns: the parallel loops.
  std::vector<Nest> nests;
  /// Rows: the loops of a bundle are unrolled, and what they compute stays in
  /// registers.
  llvm::SmallVector<bool> held;
};

/// Elements per thread up to which a row stays in registers.
inline constexpr int64_t mostHeldElements = 32;

KernelMapping mapKernel(const target::StoragePlan &plan,
                        const target::Group &group);

/// How a reduction's partial results combine.
struct Combiner {
  /// The op of the body that adds an element to the accumulator.
  mlir::Operation *op = nullptr;
};

/// The combiner of every result; none if some result cannot be taken apart, so
/// that its elements have to be visited in order.
std::optional<llvm::SmallVector<Combiner>>
combinersOf(const target::Stage &stage);

} // namespace tp::cuda

#endif // TP_LIB_TARGET_CUDA_KERNELMAPPING_H

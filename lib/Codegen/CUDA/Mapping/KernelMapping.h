//===- KernelMapping.h - loops among the threads of a grid ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mapping of a kernel's elements to threads (docs/cuda-kernels.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_KERNELMAPPING_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_KERNELMAPPING_H

#include "SegmentedNest.h"

namespace tp::cuda {

/// The largest number of rows, or warps of columns, that several blocks share.
inline constexpr int64_t mostTickets = 1024;
/// The most threads of a block that tp starts.
inline constexpr int64_t mostThreads = 512;
/// Shared memory that every launch may have without asking, in bytes.
inline constexpr int64_t mostSharedBytes = 48 * 1024;

enum class Mapping {
  /// No reduction: a thread per packet of rows and loop nest together.
  Pointwise,
  /// No reduction, and much is read along another loop than the one it is
  /// written along: a block per tile of the two loops.
  Tiles,
  /// A thread group of threads per row.
  Rows,
  /// A reduction over the rows of a matrix: columns over the threads of a warp,
  /// rows over warps.
  Columns,
  /// A scatter: a thread per packet of the loops that are not scattered and per
  /// share of the first one that is. It asks every update whether it is for its
  /// share, so that no two threads write one element.
  Scatter,
};

struct KernelMapping {
  Mapping kind = Mapping::Pointwise;
  /// Threads that share a row: 1, 32, or all of a block.
  int64_t groupSize = 1;
  int64_t block = 256;
  /// Packets that a thread has in flight at once: pointwise all of its packets,
  /// else those of one step of a loop.
  int64_t perThread = 1;
  /// Rows and columns: the number of blocks that share one row, or one warp's
  /// columns. Scatters: the number of shares of the first scattered loop.
  int64_t splitFactor = 1;
  /// Tiles: the loop that is read along, and how many elements a tile has along
  /// that and along the last loop.
  int64_t tileLoop = 0;
  int64_t tile = 0;
  /// The elements of a packet at most, of each of the nests.
  llvm::SmallVector<int64_t> vectors;
  /// Pointwise and tiles: the one nest. Rows: one per loop nest, of its loops
  /// inside the rows. Columns: the parallel loops. Scatters: those of them that
  /// are not scattered.
  std::vector<SegmentedNest> nests;
  /// Rows: the loops of a loop nest are unrolled, and what they compute stays
  /// in registers.
  llvm::SmallVector<bool> held;
};

/// Elements per thread up to which a row stays in registers.
inline constexpr int64_t mostHeldElements = 32;

/// The loops of a scatter's loop nest, which has one compute loop, by number.
struct ScatterLevels {
  /// In the order of `ComputeLoop::scattered`; the other parallel loops; the
  /// loops over the updates.
  llvm::SmallVector<unsigned> scattered, free, updates;
};
ScatterLevels scatterLevels(const target::LoopNest &loopNest);

/// The mapping that tp makes.
KernelMapping mapKernel(const target::StoredValues &plan,
                        const target::FusedKernel &fusedKernel);

/// The nests of a mapping, by its kind and its packets.
std::vector<SegmentedNest> nestsOf(const target::FusedKernel &fusedKernel,
                                   const KernelMapping &mapping);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_KERNELMAPPING_H

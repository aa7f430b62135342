//===- SegmentedNest.h - loop nests in boxes of packets ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop nest is cut into boxes inside which no operand of a concatenation
// ends, and a box into packets of neighbouring elements along its last loop.
// Elements that do not fill a packet are a box of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_SEGMENTEDNEST_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_SEGMENTEDNEST_H

#include "Kernels/FusedKernel.h"

namespace tp::cuda {

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// A box of a loop nest: loops of `extents` from `lo`, the last one in steps of
/// `vector` elements.
struct NestBox {
  llvm::SmallVector<int64_t> lo, extents;
  int64_t vector = 1;

  int64_t packets() const;
};

/// A loop nest as boxes.
struct SegmentedNest {
  llvm::SmallVector<int64_t> extents;
  std::vector<NestBox> boxes;

  int64_t packets() const;
  int64_t elements() const;
  /// Elements that each of `threads` threads computes at most.
  int64_t elementsPerThread(int64_t threads) const;
};

/// Cuts `extents` at `splits`, per loop, and into packets of `vector` elements.
SegmentedNest cut(llvm::ArrayRef<int64_t> extents,
                  llvm::ArrayRef<llvm::SmallVector<int64_t>> splits,
                  int64_t vector);

/// Per loop of the loop nest, the indices at which its compute loops cut it;
/// with `rows`, the kernel's row loops come first.
std::vector<llvm::SmallVector<int64_t>>
splitsOf(const target::FusedKernel &fusedKernel,
         const target::LoopNest &loopNest, bool rows);

void sortUnique(llvm::SmallVectorImpl<int64_t> &values);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_SEGMENTEDNEST_H

//===- Access.h - what a stage reads and writes -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accesses of a compute loop whose addresses are linear in its loops and do
// not depend on data. They decide the mapping to threads.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_ACCESS_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_ACCESS_H

#include "SegmentedNest.h"

namespace tp::cuda {

/// Bytes of one access.
inline constexpr int64_t accessBytes = 16;

/// A read or write of an element per step of a compute loop's loops.
struct Access {
  mlir::Value value;
  bool isWrite = false;
  /// Of an element.
  int64_t bytes = 0;
  /// Its address in elements, over the compute loop's loops; those that run
  /// once do not move it.
  target::LinearForm form;

  /// The loop along which neighbours lie side by side, or -1.
  int contiguousDim() const;
  /// How many neighbours along `dim` one access may take, as far as the other
  /// loops tell.
  int64_t alignmentAlong(int dim) const;
  /// Bytes of all different elements.
  int64_t traffic(llvm::ArrayRef<int64_t> extents) const;
};

llvm::SmallVector<Access> accessesOf(const target::StoredValues &plan,
                                     const target::ComputeLoop &computeLoop);

/// The dim of the compute loop that is loop `loop` of its loop nest, or -1.
int dimOfLoop(const target::ComputeLoop &computeLoop, int loop);

/// The elements of a packet along loop `loop` of the loop nest, or if that is
/// negative along row loop `row`: 16 bytes of the widest type that makes up a
/// large part of the traffic, so that a warp's accesses are contiguous. 0
/// without a contiguous access.
int64_t vectorAlong(const target::StoredValues &plan,
                    const target::LoopNest &loopNest, int loop, int row = -1);

/// Whether most of the kernel's traffic is contiguous across rows rather than
/// within a row.
bool movesAcrossRows(const target::StoredValues &plan,
                     const target::FusedKernel &fusedKernel);

/// Bytes that one iteration of the loop nest reads from memory.
int64_t readBytes(const target::StoredValues &plan,
                  const target::LoopNest &loopNest);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_ACCESS_H

//===- ThreadGroup.h - threads that work together ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_MAPPING_THREADGROUP_H
#define TP_LIB_CODEGEN_CUDA_MAPPING_THREADGROUP_H

#include "Combiner.h"

namespace tp::cuda {

inline constexpr int64_t warpSize = 32;

/// One thread, a warp, or a block of whole warps, as many as a power of two.
class ThreadGroup {
public:
  ThreadGroup(mlir::OpBuilder &builder, mlir::Location loc, int64_t size,
              mlir::Value thread)
      : builder(builder), loc(loc), size(size), thread(thread) {}

  /// Waits for all threads of the group; afterwards their writes are visible to
  /// all.
  void barrier();
  /// The combination of all threads' `partial`, in every thread, in the same
  /// order each time. Of a block it takes 8 bytes per warp of shared memory at
  /// `shared`, which nothing else uses since the last barrier.
  mlir::Value reduce(const Combiner &combiner, mlir::Value partial,
                     mlir::Value shared);

private:
  mlir::Value exchange(mlir::Value value, int64_t distance);
  mlir::Value integer(int64_t value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t size;
  /// The thread's number in its block, an i32.
  mlir::Value thread;
};

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_MAPPING_THREADGROUP_H

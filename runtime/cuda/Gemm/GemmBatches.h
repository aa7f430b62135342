//===- GemmBatches.h - the batch dimensions of a GEMM -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_GEMM_GEMMBATCHES_H
#define TP_RUNTIME_CUDA_GEMM_GEMMBATCHES_H

#include "tp/Runtime/Cuda/CublasLtGemms.h"

namespace tp::runtime::cuda {

/// One strided batch, and the offsets, in elements of a, b, c and the residual,
/// at which it is repeated.
struct GemmBatches {
  /// Dimensions whose strides go on where the next one's end become one; the
  /// largest that is left is the library's batch.
  explicit GemmBatches(const GemmCommand &gemm);

  int64_t count = 1;
  std::array<int64_t, 4> strides = {0, 0, 0, 0};
  std::vector<std::array<int64_t, 4>> offsets = {{0, 0, 0, 0}};

  /// The power of two, up to 256, that divides all addresses of an operand.
  int64_t alignment(CUdeviceptr address, int64_t elementBytes,
                    size_t operand) const;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_GEMM_GEMMBATCHES_H

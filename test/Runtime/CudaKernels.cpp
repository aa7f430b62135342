//===- CudaKernels.cpp - device kernels that tests run on the host --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a section `cubin.host` holds: every function runs as one thread of a
// block and asks the device that runs it who it is.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Kernel.h"

extern "C" {
int32_t tp_block_tid_x();
int32_t tp_block_ntid_x();
int32_t tp_block_ctaid_x();

static int64_t element() {
  return int64_t(tp_block_ctaid_x()) * tp_block_ntid_x() + tp_block_tid_x();
}

/// to[i] = 2 * from[i] of 64 floats.
void scale(const float *from, float *to, const tp_kernel_context *) {
  int64_t i = element();
  if (i < 64)
    to[i] = 2 * from[i];
}
}

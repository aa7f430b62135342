//===- CudaKernels.cpp - device kernels that tests run on the host --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a section `cubin.host` holds: every function runs as one thread of a
// block and asks the device that runs it who it is. `f_parameters` is the
// number of pointers that `f` takes.
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
int scale_parameters = 3;
void scale(const float *from, float *to, const tp_kernel_context *) {
  int64_t i = element();
  if (i < 64)
    to[i] = 2 * from[i];
}

/// Fails assert 7 where the argument's first element is above 0.
int check_small_parameters = 2;
void check_small(const float *from, const tp_kernel_context *context) {
  if (element() == 0 && from[0] > 0 && *context->status == 0)
    *context->status = 7;
}

/// result[0..3] = rank and coordinates; result[3] the scratch's alignment.
int where_am_i_parameters = 2;
void where_am_i(int64_t *result, const tp_kernel_context *context) {
  if (element() != 0)
    return;
  result[0] = context->rank;
  result[1] = context->axis_coordinate[0];
  result[2] = context->axis_coordinate[1];
  result[3] = int64_t(uintptr_t(context->scratch) % 256);
}

/// to[i] = from[i] of 64 floats.
int look_parameters = 3;
void look(const float *from, float *to, const tp_kernel_context *) {
  int64_t i = element();
  if (i < 64)
    to[i] = from[i];
}

/// Writes 64 bytes below its buffer.
int wander_parameters = 2;
void wander(char *buffer, const tp_kernel_context *) {
  if (element() == 0)
    buffer[int64_t(1) << 40] = 1;
}
}

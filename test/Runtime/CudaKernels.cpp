//===- CudaKernels.cpp - device kernels that tests run on the host --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a section `cubin.host` holds: every function runs as one thread of a
// block, takes the addresses of its parameters and asks the device that runs it
// who it is.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Kernel.h"

extern "C" {
int32_t tp_block_read_ptx_sreg_tid_x();
int32_t tp_block_read_ptx_sreg_ntid_x();
int32_t tp_block_read_ptx_sreg_ctaid_x();
}

static int64_t element() {
  return int64_t(tp_block_read_ptx_sreg_ctaid_x()) *
             tp_block_read_ptx_sreg_ntid_x() +
         tp_block_read_ptx_sreg_tid_x();
}

template <typename T> static T *parameter(void *const *params, int i) {
  return *static_cast<T *const *>(params[i]);
}

extern "C" {

/// to[i] = 2 * from[i] of 64 floats.
void scale(void *const *params) {
  int64_t i = element();
  if (i < 64)
    parameter<float>(params, 1)[i] = 2 * parameter<const float>(params, 0)[i];
}

/// Fails assert 7 where the argument's first element is above 0.
void check_small(void *const *params) {
  auto *context = parameter<const tp_kernel_context>(params, 1);
  if (element() == 0 && *parameter<const float>(params, 0) > 0 &&
      *context->status == 0)
    *context->status = 7;
}

/// result[0..2] = rank and coordinates; result[3] the scratch's alignment.
void where_am_i(void *const *params) {
  auto *result = parameter<int64_t>(params, 0);
  auto *context = parameter<const tp_kernel_context>(params, 1);
  if (element() != 0)
    return;
  result[0] = context->rank;
  result[1] = context->axis_coordinate[0];
  result[2] = context->axis_coordinate[1];
  result[3] = int64_t(uintptr_t(context->scratch) % 256);
}

/// to[i] = from[i] of 64 floats.
void look(void *const *params) {
  int64_t i = element();
  if (i < 64)
    parameter<float>(params, 1)[i] = parameter<const float>(params, 0)[i];
}

/// Writes far from its buffer.
void wander(void *const *params) {
  if (element() == 0)
    parameter<char>(params, 0)[int64_t(1) << 40] = 1;
}
}

//===- Kernels.c - kernels that the runtime's tests call ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Kernel.h"

/* result[0..3] = rank and coordinates; result[3] the scratch's alignment. */
void where_am_i(void *const *buffers, const tp_kernel_context *context) {
  int64_t *result = buffers[0];
  result[0] = context->rank;
  result[1] = context->axis_coordinate[0];
  result[2] = context->axis_coordinate[1];
  result[3] = (int64_t)((uintptr_t)context->scratch % 64);
  ((volatile char *)context->scratch)[127] = 1;
}

/* Fails assert 7 where the argument's first element is not 0. */
void check_zero(void *const *buffers, const tp_kernel_context *context) {
  if (*(const float *)buffers[0] != 0 && *context->status == 0)
    *context->status = 7;
}

/* result[i] = argument[i] + constant[i], 4 floats. */
void add_constant(void *const *buffers, const tp_kernel_context *context) {
  const float *a = buffers[0], *b = buffers[1];
  float *c = buffers[2];
  (void)context;
  for (int i = 0; i < 4; ++i)
    c[i] = a[i] + b[i];
}

/* result[i] = buffer[i], 8 words: shows what a step starts with. */
void look(void *const *buffers, const tp_kernel_context *context) {
  const uint32_t *from = buffers[0];
  uint32_t *to = buffers[1];
  (void)context;
  for (int i = 0; i < 8; ++i)
    to[i] = from[i];
}

void crash_on_rank_1(void *const *buffers, const tp_kernel_context *context) {
  (void)buffers;
  if (context->rank == 1)
    __builtin_trap();
}

/* to[i] = 2 * from[i] of 64 floats. */
void scale(void *const *buffers, const tp_kernel_context *context) {
  const float *from = buffers[0];
  float *to = buffers[1];
  (void)context;
  for (int i = 0; i < 64; ++i)
    to[i] = 2 * from[i];
}

/* Adds 1 to 2^19 integers. */
void add_one(void *const *buffers, const tp_kernel_context *context) {
  uint32_t *values = buffers[0];
  (void)context;
  for (int i = 0; i < 1 << 19; ++i)
    values[i] += 1;
}

/* Fails assert 7 where 2^19 integers are not all the same. */
void check_uniform(void *const *buffers, const tp_kernel_context *context) {
  const uint32_t *values = buffers[0];
  for (int i = 0; i < 1 << 19; ++i)
    if (values[i] != values[0] && *context->status == 0)
      *context->status = 7;
}

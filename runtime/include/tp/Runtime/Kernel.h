/*===- Kernel.h - what a compiled kernel is called with -----------*- C -*-===*
 *
 * Part of tp, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * The compiler emits code against this layout; a change needs a new artifact
 * version.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TP_RUNTIME_KERNEL_H
#define TP_RUNTIME_KERNEL_H

#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): these are C names. */

#ifdef __cplusplus
extern "C" {
#endif

#define TP_MAX_MESH_AXES 8

typedef struct {
  /** This rank's coordinate on every mesh axis, in the mesh's order. */
  int64_t axis_coordinate[TP_MAX_MESH_AXES];
  int64_t rank;
  /** A failed check stores its assert id here if the word is still 0. */
  int32_t *status;
  /** `memory.scratch_bytes` bytes, 64-byte aligned, undefined at entry. */
  void *scratch;
} tp_kernel_context;

/** `buffers[i]` is the address of the command's i-th buffer. */
typedef void (*tp_kernel)(void *const *buffers,
                          const tp_kernel_context *context);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif /* TP_RUNTIME_KERNEL_H */

/*===- CustomOp.h - functions that compute ops of users -----------*- C -*-===*
 *
 * Part of tp, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * A function of type tp_op computes one op of a dialect that tp does not
 * know. It stands in a shared object that the user links (docs/custom-ops.md)
 * under the op's name, with '_' for each character that no name of C has:
 * my_matmul for "my.matmul". On NVIDIA devices it is my_matmul_cuda.
 *
 * It is called with the part of the tensors that one rank has, on several
 * threads at once. Nothing but the tensors' own elements may be read or
 * written.
 *
 * A function for devices gets tensors in the memory of its rank's device, whose
 * context is the thread's current one, and puts its work into `stream`. It is
 * called in the first step, and once more while that stream is captured in a
 * CUDA graph, which all later steps run. So what it puts there has to be right
 * for every step, whatever the tensors hold, and it waits for nothing. In a
 * capture it allocates no memory and loads no code: the first call does.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TP_RUNTIME_CUSTOMOP_H
#define TP_RUNTIME_CUSTOMOP_H

#include "tp/Runtime/Runtime.h"
#include <string.h>

/* NOLINTBEGIN(readability-identifier-naming): these are C names. */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TP_INTEGERS = 0, /**< integers and truth values */
  TP_NUMBERS = 1,  /**< floats */
  TP_TEXT = 2
} tp_attribute_kind;

/** An attribute of the op: one number is a list of one. */
typedef struct {
  const char *name;
  int32_t kind;  /**< tp_attribute_kind */
  int64_t count; /**< of integers or numbers */
  const int64_t *integers;
  const double *numbers;
  const char *text; /**< zero-terminated */
} tp_attribute;

/** One call. Sizes are those of the rank's part; one may be 0. Strides are
    row-major where no dimension is sharded unevenly. Outputs hold anything and
    overlap no input. Of a reduction every rank writes the result of its own
    part; of a part without indices that is the number that changes nothing, 0
    of a sum. */
typedef struct {
  uint32_t struct_size; /**< sizeof(tp_op_call) of the caller */
  const char *op;       /**< "my.matmul" */
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attributes;
  const tp_tensor *inputs;
  const tp_tensor *outputs;
  const tp_attribute *attributes;
  /** The CUstream (cudaStream_t) of a function for devices; NULL on processors.
      Is there if `struct_size` reaches it, as it does on devices. */
  void *stream;
} tp_op_call;

/** 0, or a number that the error of the step shows. On devices it tells whether
    the work is in the stream. */
typedef int32_t (*tp_op)(const tp_op_call *call);

/** NULL if the op has no attribute of this name. */
static inline const tp_attribute *tp_find_attribute(const tp_op_call *call,
                                                    const char *name) {
  for (int32_t i = 0; i < call->num_attributes; ++i)
    if (strcmp(call->attributes[i].name, name) == 0)
      return &call->attributes[i];
  return NULL;
}

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif /* TP_RUNTIME_CUSTOMOP_H */

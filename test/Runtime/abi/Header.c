//===- Header.c - the ABI's headers are C ---------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Kernel.h"
#include "tp/Runtime/Runtime.h"

int tp_test_header_is_c(void);
int tp_test_header_is_c(void) {
  return tp_status_code(NULL) == TP_OK && sizeof(tp_tensor) >= 16;
}

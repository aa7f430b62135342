//===- Constructor.c - code that runs when it is loaded -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <stdio.h>

__attribute__((constructor)) static void show(void) {
  FILE *file = fopen("loaded", "w");
  if (file)
    fclose(file);
}

void where_am_i(void *const *buffers, const void *context) {
  (void)buffers;
  (void)context;
}

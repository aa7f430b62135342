//===- FakeGates.cpp - streams that wait for the host ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"

using namespace tp::fake;

extern "C" TP_FAKE CUresult cuStreamWaitValue32_v2(CUstream stream,
                                                   CUdeviceptr word,
                                                   uint32_t value,
                                                   unsigned flags) {
  ENTER("cuStreamWaitValue32", Context)
  if (!stream || !word || word % sizeof(uint32_t) ||
      flags != CU_STREAM_WAIT_VALUE_GEQ)
    return CUDA_ERROR_INVALID_VALUE;
  return queue(stream, "a wait for a word", fault, [=] {
    return [=] {
      return int32_t(*reinterpret_cast<volatile uint32_t *>(word) - value) >= 0;
    };
  });
}

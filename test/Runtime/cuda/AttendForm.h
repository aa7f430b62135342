//===- AttendForm.h - what the test kernel 'attend' computes ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_CUDA_ATTENDFORM_H
#define TP_TEST_RUNTIME_CUDA_ATTENDFORM_H

#include <cstdint>

namespace tp::test {

/// An attention command's numbers, as a test puts them into the constants.
struct AttendForm {
  enum : int64_t { None, F32, F16, BF16 };

  int64_t type = BF16, biasType = None;
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1;
  int64_t headSize = 8, valueSize = 8;
  /// Of j - i.
  int64_t lower = INT32_MIN, upper = INT32_MAX;
  double scale = 1;
  /// In elements, of batch, head and row of q, k, v and o.
  int64_t strides[4][3] = {};
  int64_t biasStrides[4] = {};
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_CUDA_ATTENDFORM_H

//===- AbiCalls.h - calls of the C ABI in tests -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_ABI_ABICALLS_H
#define TP_TEST_RUNTIME_ABI_ABICALLS_H

#include "tp/Runtime/Runtime.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace tp::test {

inline void expectOk(tp_status *status) {
  EXPECT_EQ(status, nullptr) << tp_status_message(status);
  tp_status_free(status);
}

inline void expectCode(tp_status *status, tp_code code, const char *part) {
  EXPECT_EQ(tp_status_code(status), code);
  EXPECT_NE(std::string(tp_status_message(status)).find(part),
            std::string::npos)
      << tp_status_message(status);
  tp_status_free(status);
}

/// A row-major tensor in host memory.
inline tp_tensor tensor(void *data, tp_dtype dtype,
                        std::vector<int64_t> sizes) {
  tp_tensor t = {};
  t.data = data;
  t.dtype = dtype;
  t.rank = int32_t(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    t.sizes[d] = sizes[d];
    t.strides[d] = stride;
    stride *= sizes[d];
  }
  return t;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_ABI_ABICALLS_H

//===- Failure.h - statuses of the C ABI as Python exceptions ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PYTHON_FAILURE_H
#define TP_PYTHON_FAILURE_H

#include "tp/Runtime/Runtime.h"
#include <string>

namespace tp::python {

/// A failure of the runtime. In Python it is `tp._runtime.Failure(code,
/// message)`, which tp.errors.RunError replaces for users.
struct Failure {
  tp_code code = TP_OK;
  std::string message;
};

/// Frees the status.
Failure toFailure(tp_status *status);

/// Throws a Failure unless the status is NULL. Frees the status.
inline void check(tp_status *status) {
  if (status)
    throw toFailure(status);
}

} // namespace tp::python

#endif // TP_PYTHON_FAILURE_H

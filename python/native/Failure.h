//===- Failure.h - statuses of the C ABI as Python exceptions ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PYTHON_FAILURE_H
#define TP_PYTHON_FAILURE_H

#include "tp/Runtime/Runtime.h"
#include <exception>
#include <memory>
#include <string>

namespace tp::python {

/// A failure of the runtime. In Python it is `tp._runtime.Failure(code,
/// message)`, which tp.errors.RunError replaces for users.
class Failure : public std::exception {
public:
  Failure() = default;
  Failure(tp_code code, const std::string &message)
      : status(code), text(std::make_shared<const std::string>(message)) {}

  tp_code code() const { return status; }
  const char *what() const noexcept override {
    return text ? text->c_str() : "";
  }

private:
  tp_code status = TP_OK;
  std::shared_ptr<const std::string> text;
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

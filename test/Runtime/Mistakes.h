//===- Mistakes.h - documents with one mistake ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_MISTAKES_H
#define TP_TEST_RUNTIME_MISTAKES_H

#include "TestProgram.h"
#include <span>

namespace tp::test {

/// JSON that stands where another value is right, and a part of the error that
/// says so.
struct Mistake {
  /// A JSON pointer.
  const char *where;
  const char *value;
  const char *message;
};

/// `parse` accepts `whole`, and refuses it with any one of the mistakes.
inline void
expectMistakes(const json &whole, std::span<const Mistake> mistakes,
               const std::function<runtime::Status(const json &)> &parse) {
  ASSERT_OK(parse(whole));
  for (const Mistake &mistake : mistakes) {
    json changed = whole;
    changed[json::json_pointer(mistake.where)] = json::parse(mistake.value);
    SCOPED_TRACE(std::string(mistake.where) + " = " + mistake.value);
    expectError(parse(changed), mistake.message);
  }
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_MISTAKES_H

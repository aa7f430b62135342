//===- Mistakes.h - documents with one mistake ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_MISTAKES_H
#define TP_TEST_RUNTIME_MISTAKES_H

#include "TestProgram.h"
#include <fstream>

namespace tp::test {

/// `parse` accepts `whole`, and refuses it with any one of the mistakes of
/// Mistakes/NAME.cases. A mistake is a line with a JSON pointer and the JSON
/// that stands there instead, and an indented one with a part of the error:
///
///     /mesh/axes = []
///         a mesh has 1 to 8 axes, got 0
inline void
expectMistakes(const json &whole, const std::string &name,
               const std::function<runtime::Status(const json &)> &parse) {
  ASSERT_OK(parse(whole));
  std::ifstream file(TP_TEST_MISTAKES "/" + name + ".cases");
  std::string line, message;
  int64_t mistakes = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#')
      continue;
    SCOPED_TRACE(line);
    size_t equals = line.find(" = ");
    ASSERT_NE(equals, line.npos);
    ASSERT_TRUE(std::getline(file, message) && message.starts_with("    "));
    json changed = whole;
    changed[json::json_pointer(line.substr(0, equals))] =
        json::parse(line.substr(equals + 3));
    expectError(parse(changed), message.substr(4));
    ++mistakes;
  }
  EXPECT_GT(mistakes, 0) << "no mistakes in " << name << ".cases";
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_MISTAKES_H

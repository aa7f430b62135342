//===- JsonWriter.h - compact JSON ------------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects and lists are written as they are opened and closed; no value is
// built of them. A member that has its default is left out.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_JSONWRITER_H
#define TP_RUNTIME_FORMAT_JSONWRITER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tp::runtime {

class JsonWriter {
public:
  /// Ill-formed UTF-8 becomes U+FFFD.
  void value(std::string_view text);
  void value(const char *text) { value(std::string_view(text)); }
  void value(const std::string &text) { value(std::string_view(text)); }
  void value(int64_t number);
  /// The shortest number that reads as this one, which is finite.
  void value(double number);
  void value(bool truth);
  template <typename T> void value(const std::vector<T> &list) {
    array([&] {
      for (const T &element : list)
        value(element);
    });
  }

  template <typename Fill> void object(Fill fill) { enclose('{', '}', fill); }
  template <typename Fill> void array(Fill fill) { enclose('[', ']', fill); }

  /// The name of the member whose value is written next.
  void key(std::string_view name);
  template <typename T> void member(std::string_view name, const T &content) {
    key(name);
    value(content);
  }
  template <typename T>
  void memberUnless(const T &standard, std::string_view name,
                    const T &content) {
    if (content != standard)
      member(name, content);
  }
  template <typename Fill> void objectMember(std::string_view name, Fill fill) {
    key(name);
    object(fill);
  }
  /// A list whose elements `fill` writes row by row, each on a line.
  template <typename Rows, typename Fill>
  void rows(std::string_view name, const Rows &list, Fill fill) {
    key(name);
    array([&] {
      for (const auto &row : list) {
        separate();
        text += '\n';
        afterSeparator = true;
        fill(row);
      }
    });
  }

  std::string take() { return std::move(text); }

private:
  template <typename Fill> void enclose(char open, char close, Fill fill) {
    separate();
    text += open;
    first = true;
    fill();
    text += close;
    first = false;
  }
  /// Puts a comma before all but the first of a list or object.
  void separate();

  std::string text;
  bool first = true;
  /// What stands before the next value is written already.
  bool afterSeparator = true;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_JSONWRITER_H

//===- JsonReader.h - checked access to parsed JSON -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every accessor checks type and range. The first mistake is kept with the
// path to it; from then on accessors return empty values, so that callers read
// straight on and look at the status once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_JSONREADER_H
#define TP_RUNTIME_FORMAT_JSONREADER_H

#include "tp/Runtime/Status.h"
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp::runtime {

/// Parses `text`; a syntax error, a key that stands twice in one object or
/// nesting of more than 64 levels is an error.
Status parseJson(std::string_view text, nlohmann::json &value);

class JsonReader {
public:
  JsonReader(const nlohmann::json &value, Status &status)
      : value(&value), status(&status) {}

  /// Required member of an object.
  JsonReader at(const char *key) const;
  /// Optional member: nothing if absent or null.
  std::optional<JsonReader> find(const char *key) const;
  /// Elements of an array; empty (and an error) if this is none.
  std::vector<JsonReader> elements() const;
  /// Members of an object; empty (and an error) if this is none.
  std::vector<std::pair<std::string, JsonReader>> members() const;

  bool isObject() const;
  bool isText() const;
  /// An error if this object has a member of another name.
  void only(std::initializer_list<const char *> keys) const;
  int64_t integer(int64_t least = 0, int64_t most = maxInteger) const;
  std::vector<int64_t> integers(int64_t least = 0,
                                int64_t most = maxInteger) const;
  double number() const;
  bool boolean() const;
  std::string text() const;
  std::vector<std::string> texts() const;

  std::string textOr(const char *key, const char *fallback) const;
  bool booleanOr(const char *key, bool fallback) const;
  int64_t integerOr(const char *key, int64_t fallback) const;
  double numberOr(const char *key, double fallback) const;

  /// Records "path: message".
  void error(const std::string &message) const;
  bool failed() const { return !status->ok(); }

  /// Above every size and offset that can occur, and sums of a few of them
  /// still fit.
  static constexpr int64_t maxInteger = int64_t(1) << 48;

private:
  JsonReader(const nlohmann::json &value, Status &status, std::string path)
      : value(&value), status(&status), path(std::move(path)) {}
  void expected(const char *what) const;

  const nlohmann::json *value;
  Status *status;
  std::string path;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_JSONREADER_H

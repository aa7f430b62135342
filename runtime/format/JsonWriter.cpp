//===- JsonWriter.cpp - compact JSON --------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonWriter.h"
#include <charconv>
#include <nlohmann/json.hpp>

using namespace tp::runtime;

void JsonWriter::separate() {
  if (!first && !afterSeparator)
    text += ',';
  first = afterSeparator = false;
}

void JsonWriter::key(std::string_view name) {
  value(name);
  text += ':';
  afterSeparator = true;
}

void JsonWriter::value(std::string_view content) {
  separate();
  text += nlohmann::json(content).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonWriter::value(int64_t number) {
  separate();
  text += std::to_string(number);
}

void JsonWriter::value(double number) {
  separate();
  char digits[32];
  std::to_chars_result end =
      std::to_chars(digits, digits + sizeof(digits), number);
  text.append(digits, end.ptr);
}

void JsonWriter::value(bool truth) {
  separate();
  text += truth ? "true" : "false";
}

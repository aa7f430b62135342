//===- CallAttributes.cpp - attributes of calls as JSON -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallAttributes.h"
#include <charconv>

using namespace tp::runtime;

static std::string textOf(int64_t number) { return std::to_string(number); }

/// The shortest text that reads as the number; "inf", "-inf", "nan" too.
static std::string textOf(double number) {
  char digits[40];
  std::to_chars_result end =
      std::to_chars(digits, digits + sizeof(digits), number);
  return {digits, end.ptr};
}

template <typename T>
static std::vector<std::string> textsOf(const std::vector<T> &numbers) {
  std::vector<std::string> texts;
  for (T number : numbers)
    texts.push_back(textOf(number));
  return texts;
}

void tp::runtime::writeAttributes(
    JsonWriter &json, const std::vector<CallAttribute> &attributes) {
  json.key("attributes");
  json.array([&] {
    for (const CallAttribute &attribute : attributes)
      json.object([&] {
        json.member("name", attribute.name);
        std::visit(Overloaded{[&](const std::vector<int64_t> &integers) {
                                json.member("integers", textsOf(integers));
                              },
                              [&](const std::vector<double> &numbers) {
                                json.member("numbers", textsOf(numbers));
                              },
                              [&](const std::string &text) {
                                json.member("text", text);
                              }},
                   attribute.value);
      });
  });
}

template <typename T>
static std::vector<T> readNumbers(const JsonReader &reader) {
  std::vector<T> numbers;
  for (const std::string &text : reader.texts()) {
    T number = 0;
    const char *end = text.data() + text.size();
    auto [read, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || read != end || error != std::errc())
      reader.error("expected the text of a number, got '" + text + "'");
    numbers.push_back(number);
  }
  return numbers;
}

CallAttribute tp::runtime::readAttribute(const JsonReader &reader) {
  reader.only({"name", "integers", "numbers", "text"});
  CallAttribute attribute;
  attribute.name = reader.at("name").text();
  auto integers = reader.find("integers"), numbers = reader.find("numbers"),
       text = reader.find("text");
  if (bool(integers) + bool(numbers) + bool(text) != 1)
    reader.error("expected one of integers, numbers and text");
  else if (integers)
    attribute.value = readNumbers<int64_t>(*integers);
  else if (numbers)
    attribute.value = readNumbers<double>(*numbers);
  else
    attribute.value = text->text();
  return attribute;
}

//===- JsonReader.cpp - checked access to parsed JSON ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"
#include <algorithm>
#include <cstdlib>
#include <set>

using namespace tp::runtime;
using nlohmann::json;

namespace {
const json nothing;

std::string shortDump(const json &value) {
  // Invalid UTF-8 is replaced, not thrown at.
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// Looks at the text before a value is made of it: what walks the value later
/// goes as deep as it is nested.
class SyntaxCheck : public nlohmann::json_sax<json> {
public:
  Status status;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    keys.emplace_back();
    return enter();
  }
  bool end_object() override {
    keys.pop_back();
    --depth;
    return true;
  }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override {
    --depth;
    return true;
  }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second)
      status = formatError("the key '" + name + "' stands twice");
    return status.ok();
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // The library's text starts with its own code and repeats the place.
    std::string reason = error.what();
    size_t start = reason.find(": ");
    if (start == std::string::npos)
      start = reason.find("] ");
    reason = reason.substr(start == std::string::npos ? 0 : start + 2);
    status = formatError("not valid JSON at byte " + std::to_string(position) +
                         ": " + reason);
    return false;
  }

private:
  bool enter() {
    if (++depth > maxDepth)
      status = formatError("JSON nested deeper than " +
                           std::to_string(maxDepth) + " levels");
    return status.ok();
  }

  static constexpr size_t maxDepth = 64;
  std::vector<std::set<std::string>> keys;
  size_t depth = 0;
};
} // namespace

Status tp::runtime::parseJson(std::string_view text, json &value) {
  SyntaxCheck check;
  json::sax_parse(text, &check);
  if (!check.status.ok())
    return check.status;
  // Values that are taken down for want of memory need some themselves, and end
  // the process where they get none: so ask for the most that they can take
  // (volatile, or compilers assume that there is always enough).
  constexpr size_t bytesPerCharacter = 32;
  void *volatile room = std::malloc(text.size() * bytesPerCharacter);
  if (!room)
    return systemError("out of memory: to read " + std::to_string(text.size()) +
                       " bytes of JSON may take " +
                       std::to_string(text.size() * bytesPerCharacter));
  std::free(room);
  value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return {};
}

void JsonReader::error(const std::string &message) const {
  if (status->ok())
    *status = formatError((path.empty() ? "top level" : path) + ": " + message);
}

void JsonReader::expected(const char *what) const {
  if (status->ok())
    error(std::string("expected ") + what + ", got " + shortDump(*value));
}

JsonReader JsonReader::at(const char *key) const {
  std::string memberPath = path.empty() ? key : path + "." + key;
  if (!failed() && !value->is_object())
    expected("an object");
  if (!failed()) {
    auto member = value->find(key);
    if (member != value->end())
      return {*member, *status, std::move(memberPath)};
    *status = formatError(memberPath + ": missing");
  }
  return {nothing, *status, std::move(memberPath)};
}

std::optional<JsonReader> JsonReader::find(const char *key) const {
  if (failed())
    return std::nullopt;
  if (!value->is_object()) {
    expected("an object");
    return std::nullopt;
  }
  auto member = value->find(key);
  if (member == value->end() || member->is_null())
    return std::nullopt;
  return at(key);
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> readers;
  if (failed())
    return readers;
  if (!value->is_array()) {
    expected("an array");
    return readers;
  }
  readers.reserve(value->size());
  for (size_t i = 0; i < value->size(); ++i)
    readers.push_back(
        {(*value)[i], *status, path + "[" + std::to_string(i) + "]"});
  return readers;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  std::vector<std::pair<std::string, JsonReader>> readers;
  if (failed())
    return readers;
  if (!value->is_object()) {
    expected("an object");
    return readers;
  }
  for (const auto &member : value->items())
    readers.emplace_back(
        member.key(),
        JsonReader(member.value(), *status,
                   path.empty() ? member.key() : path + "." + member.key()));
  return readers;
}

bool JsonReader::isObject() const { return !failed() && value->is_object(); }

bool JsonReader::isText() const { return !failed() && value->is_string(); }

void JsonReader::only(std::initializer_list<const char *> keys) const {
  if (failed() || !value->is_object())
    return;
  for (const auto &member : value->items()) {
    auto isMember = [&](const char *key) { return member.key() == key; };
    if (std::any_of(keys.begin(), keys.end(), isMember))
      continue;
    std::string known;
    for (const char *key : keys)
      known += std::string(known.empty() ? "" : " ") + key;
    return error("unknown field '" + member.key() +
                 "', expected one of: " + known);
  }
}

int64_t JsonReader::integer(int64_t least, int64_t most) const {
  if (failed())
    return least;
  bool fits = value->is_number_integer() &&
              (!value->is_number_unsigned() ||
               value->get<uint64_t>() <= uint64_t(INT64_MAX));
  int64_t number = fits ? value->get<int64_t>() : 0;
  if (!fits || number < least || number > most) {
    expected(("an integer from " + std::to_string(least) + " to " +
              std::to_string(most))
                 .c_str());
    return least;
  }
  return number;
}

std::vector<int64_t> JsonReader::integers(int64_t least, int64_t most) const {
  std::vector<int64_t> numbers;
  for (const JsonReader &element : elements())
    numbers.push_back(element.integer(least, most));
  return numbers;
}

double JsonReader::number() const {
  if (failed())
    return 0;
  if (!value->is_number()) {
    expected("a number");
    return 0;
  }
  return value->get<double>();
}

bool JsonReader::boolean() const {
  if (failed())
    return false;
  if (!value->is_boolean()) {
    expected("true or false");
    return false;
  }
  return value->get<bool>();
}

std::string JsonReader::text() const {
  if (failed())
    return {};
  if (!value->is_string()) {
    expected("a string");
    return {};
  }
  return value->get_ref<const std::string &>();
}

std::vector<std::string> JsonReader::texts() const {
  std::vector<std::string> strings;
  for (const JsonReader &element : elements())
    strings.push_back(element.text());
  return strings;
}

std::string JsonReader::textOr(const char *key, const char *fallback) const {
  std::optional<JsonReader> member = find(key);
  return member ? member->text() : fallback;
}

int64_t JsonReader::integerOr(const char *key, int64_t fallback) const {
  std::optional<JsonReader> member = find(key);
  return member ? member->integer() : fallback;
}

bool JsonReader::booleanOr(const char *key, bool fallback) const {
  std::optional<JsonReader> member = find(key);
  return member ? member->boolean() : fallback;
}

double JsonReader::numberOr(const char *key, double fallback) const {
  std::optional<JsonReader> member = find(key);
  return member ? member->number() : fallback;
}

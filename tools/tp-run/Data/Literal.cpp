//===- Literal.cpp - arrays written on the command line -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Literal.h"
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tp::run;
using namespace tp::runtime;

namespace {

struct ArrayType {
  std::vector<int64_t> shape;
  DataType dtype = DataType::F32;
};

/// Sizes, each with an x behind it, then the element type.
std::optional<ArrayType> parseType(std::string_view text) {
  ArrayType type;
  for (;;) {
    if (std::optional<DataType> dtype = parseDataType(text)) {
      type.dtype = *dtype;
      return type;
    }
    int64_t size = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), size);
    const char *last = text.data() + text.size();
    if (error != std::errc() || size < 0 || text[0] == '-' || end == last ||
        *end != 'x')
      return std::nullopt;
    type.shape.push_back(size);
    text.remove_prefix(end + 1 - text.data());
  }
}

template <typename T> bool parseAll(std::string_view word, T &value) {
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

template <typename T> bool storeInteger(std::string_view word, char *place) {
  T value;
  if (!parseAll(word, value))
    return false;
  std::memcpy(place, &value, sizeof(value));
  return true;
}

bool storeFloat(std::string_view word, DataType type, char *place) {
  double value;
  if (!parseAll(word, value))
    return false;
  auto put = [&](auto bits) {
    std::memcpy(place, &bits, sizeof(bits));
    return true;
  };
  float single = float(value);
  switch (type) {
  case DataType::F64:
    return put(value);
  case DataType::F32:
    return put(single);
  case DataType::F16:
    return put(floatToHalf(single));
  case DataType::BF16:
    return put(floatToBfloat(single));
  default:
    return put(floatToFloat8(type, single));
  }
}

/// False where `word` is no number of the type.
bool storeNumber(std::string_view word, DataType type, char *place) {
  // from_chars knows no plus sign.
  if (word.starts_with("+") && !word.starts_with("+-"))
    word.remove_prefix(1);
  switch (type) {
  case DataType::I1:
    *place = word == "1" || word == "true";
    return *place || word == "0" || word == "false";
  case DataType::I8:
    return storeInteger<int8_t>(word, place);
  case DataType::I16:
    return storeInteger<int16_t>(word, place);
  case DataType::I32:
    return storeInteger<int32_t>(word, place);
  case DataType::I64:
  case DataType::Index:
    return storeInteger<int64_t>(word, place);
  case DataType::U8:
    return storeInteger<uint8_t>(word, place);
  case DataType::U16:
    return storeInteger<uint16_t>(word, place);
  case DataType::U32:
    return storeInteger<uint32_t>(word, place);
  case DataType::U64:
    return storeInteger<uint64_t>(word, place);
  default:
    return storeFloat(word, type, place);
  }
}

/// The words between brackets, blanks and commas; nothing where brackets are
/// not balanced.
std::optional<std::vector<std::string_view>>
splitValues(std::string_view text) {
  std::vector<std::string_view> words;
  int64_t depth = 0;
  constexpr std::string_view separators = " ,\t\n[]";
  for (size_t at = 0; at < text.size();) {
    if (separators.find(text[at]) != std::string_view::npos) {
      depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
      if (depth < 0 || (depth == 0 && text[at] != ']'))
        return std::nullopt;
      ++at;
      continue;
    }
    size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return depth == 0 ? std::optional(words) : std::nullopt;
}

} // namespace

std::optional<Literal> tp::run::splitLiteral(std::string_view text) {
  // A name may hold '=': the type is the first of its parts that is one.
  for (size_t begin = 0;;) {
    size_t end = text.find('=', begin);
    if (end == std::string_view::npos)
      return std::nullopt;
    if (parseType(text.substr(begin, end - begin)))
      return Literal{std::string(text.substr(0, begin ? begin - 1 : 0)),
                     std::string(text.substr(begin, end - begin)),
                     std::string(text.substr(end + 1))};
    begin = end + 1;
  }
}

Status tp::run::readLiteral(std::string_view typeText, std::string_view values,
                            Array &array) {
  std::optional<ArrayType> type = parseType(typeText);
  if (!type)
    return invalidArgument("expected a type such as 1x4xi64, got '" +
                           std::string(typeText) + "'");
  std::optional<int64_t> count = elementCount(type->shape);
  // As much as a command line can ask for by mistake.
  constexpr int64_t mostBytes = int64_t(1) << 34;
  if (!count || type->shape.size() > 64 ||
      *count > mostBytes / byteSize(type->dtype))
    return invalidArgument("the array is too large");
  bool isSplat = values.find('[') == std::string_view::npos;
  auto words =
      isSplat ? std::vector<std::string_view>{values}
              : splitValues(values).value_or(std::vector<std::string_view>());
  if (!isSplat && !splitValues(values))
    return invalidArgument("expected numbers in balanced brackets, got '" +
                           std::string(values) + "'");
  if (!isSplat && int64_t(words.size()) != *count)
    return invalidArgument(
        "expected " + std::to_string(*count) +
        " numbers in brackets, or one without for all, got " +
        std::to_string(words.size()));
  char *bytes = nullptr;
  array = makeArray(type->dtype, type->shape, bytes);
  int64_t size = byteSize(type->dtype);
  std::vector<char> number(size);
  for (size_t i = 0; i < words.size(); ++i) {
    if (!storeNumber(words[i], type->dtype, number.data()))
      return invalidArgument("expected a number of type " +
                             std::string(spelling(type->dtype)) + ", got '" +
                             std::string(words[i]) + "'");
    for (int64_t at = int64_t(i); at < *count; at += isSplat ? 1 : *count)
      std::memcpy(bytes + at * size, number.data(), size);
  }
  return {};
}

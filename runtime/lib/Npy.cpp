//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Array.h"
#include "tp/Runtime/ArtifactFile.h"
#include <cctype>

using namespace tp::runtime;

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// The header is a Python dictionary of three known keys; nothing else of
/// Python is understood.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Status parse();

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  void skipSpace() {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])))
      text.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skipSpace();
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    return true;
  }
  bool string(std::string &value);
  bool boolean(bool &value) {
    value = take("True");
    return value || take("False");
  }
  bool tuple(std::vector<int64_t> &values);
  bool integer(int64_t &value);

  std::string_view text;
};

bool HeaderParser::string(std::string &value) {
  skipSpace();
  if (text.empty() || (text[0] != '\'' && text[0] != '"'))
    return false;
  size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos)
    return false;
  value = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return true;
}

bool HeaderParser::integer(int64_t &value) {
  skipSpace();
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])))
    return false;
  value = 0;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text[0] - '0', &value))
      return false;
    text.remove_prefix(1);
  }
  return true;
}

bool HeaderParser::tuple(std::vector<int64_t> &values) {
  if (!take("("))
    return false;
  while (!take(")")) {
    int64_t value;
    if (!integer(value))
      return false;
    values.push_back(value);
    if (!take(","))
      return take(")");
  }
  return true;
}

Status HeaderParser::parse() {
  bool seen[3] = {};
  auto malformed = [] {
    return formatError("malformed .npy header, expected {'descr': ..., "
                       "'fortran_order': ..., 'shape': (...)}");
  };
  if (!take("{"))
    return malformed();
  while (!take("}")) {
    std::string key;
    if (!string(key) || !take(":"))
      return malformed();
    bool good = false;
    if (key == "descr")
      good = string(descr) && !std::exchange(seen[0], true);
    else if (key == "fortran_order")
      good = boolean(fortranOrder) && !std::exchange(seen[1], true);
    else if (key == "shape")
      good = tuple(shape) && !std::exchange(seen[2], true);
    if (!good)
      return malformed();
    if (take(","))
      continue;
    if (!take("}"))
      return malformed();
    break;
  }
  skipSpace();
  if (!text.empty() || !seen[0] || !seen[1] || !seen[2])
    return malformed();
  return {};
}

struct Descr {
  const char *text;
  DataType type;
};
// The spelling written is the first of a type.
constexpr Descr descrs[] = {{"<f8", DataType::F64},   {"<f4", DataType::F32},
                            {"<f2", DataType::F16},   {"<i8", DataType::I64},
                            {"<i4", DataType::I32},   {"<i2", DataType::I16},
                            {"|i1", DataType::I8},    {"|b1", DataType::I1},
                            {"<i8", DataType::Index}, {"|V2", DataType::BF16}};

Status typeOf(const std::string &descr, std::optional<DataType> rawType,
              DataType &type) {
  if (descr.starts_with("|V")) {
    if (!rawType)
      return unsupported("raw elements '" + descr +
                         "': give their type with --dtype");
    if (descr != "|V" + std::to_string(byteSize(*rawType)))
      return invalidArgument("raw elements '" + descr + "' are no " +
                             spelling(*rawType));
    type = *rawType;
    return {};
  }
  for (const Descr &known : descrs)
    if (descr == known.text) {
      type = known.type;
      return {};
    }
  if (descr.starts_with(">"))
    return unsupported("big-endian elements '" + descr +
                       "', expected little-endian ones");
  return unsupported("elements of type '" + descr +
                     "', expected one of: <f8 <f4 <f2 <i8 <i4 <i2 |i1 |b1 |V2");
}

Status parse(const MappedFile &file, std::optional<DataType> rawType,
             Array &array) {
  std::string_view bytes = file.bytes();
  if (!bytes.starts_with(magic))
    return formatError("not a .npy file: it does not start with \\x93NUMPY");
  auto byte = [&](size_t i) { return size_t(uint8_t(bytes[i])); };
  if (bytes.size() < 10)
    return formatError("truncated .npy file: no room for a header");
  size_t version = byte(6);
  if (version < 1 || version > 3)
    return unsupported(".npy version " + std::to_string(version) +
                       ", expected 1, 2 or 3");
  size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return formatError("truncated .npy file: no room for a header");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start)
    return formatError("truncated .npy file: its header needs " +
                       std::to_string(start + length) +
                       " bytes, the file has " + std::to_string(bytes.size()));
  HeaderParser header(bytes.substr(start, length));
  if (Status status = header.parse(); !status.ok())
    return status;
  if (Status status = typeOf(header.descr, rawType, array.dtype); !status.ok())
    return status;
  array.shape = header.shape;
  std::optional<int64_t> count = elementCount(array.shape);
  int64_t size = 0;
  bool fits = array.shape.size() <= 64 && count &&
              !__builtin_mul_overflow(*count, byteSize(array.dtype), &size);
  if (!fits)
    return formatError("the shape in the .npy header is too large");
  int64_t available = bytes.size() - start - length;
  if (size != available)
    return formatError(std::string(available < size ? "truncated" : "damaged") +
                       " .npy file: " + describeType(array) + " has " +
                       std::to_string(size) + " bytes, the file " +
                       std::to_string(available));
  array.strides = rowMajorStrides(array.shape);
  if (header.fortranOrder) {
    std::vector<int64_t> reversed(array.shape.rbegin(), array.shape.rend());
    reversed = rowMajorStrides(reversed);
    array.strides.assign(reversed.rbegin(), reversed.rend());
  }
  array.data = bytes.data() + start + length;
  return {};
}

} // namespace

Status tp::runtime::readNpy(const std::string &path,
                            std::optional<DataType> rawType, Array &array) {
  auto file = std::make_shared<MappedFile>();
  if (Status status = MappedFile::open(path, *file); !status.ok())
    return status;
  Array read;
  if (Status status = parse(*file, rawType, read); !status.ok())
    return status.within(path);
  read.owner = std::move(file);
  array = std::move(read);
  return {};
}

std::string tp::runtime::npyBytes(const Array &array) {
  Array dense = rowMajor(array);
  std::string descr;
  for (const Descr &known : descrs)
    if (known.type == array.dtype)
      descr = known.text;
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < dense.shape.size(); ++i)
    header += std::to_string(dense.shape[i]) +
              (i + 1 < dense.shape.size() ? ", " : "");
  if (dense.shape.size() == 1)
    header += ",";
  header += "), }";
  // The data starts at a multiple of 64, as NumPy does it. At most 64
  // dimensions: the header is far below version 1's limit.
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - 10 - 1, ' ');
  header += '\n';
  std::string file(magic);
  file += {'\1', '\0', char(header.size() & 0xff), char(header.size() >> 8)};
  file += header;
  file.append(dense.data, dense.bytes());
  return file;
}

Status tp::runtime::writeNpy(const std::string &path, const Array &array) {
  return writeFileAtomically(path, npyBytes(array));
}

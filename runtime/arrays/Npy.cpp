//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Array.h"
#include "tp/Runtime/OutputFile.h"
#include <algorithm>
#include <cctype>

using namespace tp::runtime;

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// The header is a Python dictionary of three known keys; nothing else of
/// Python is understood.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text), rest(text) {}

  Status parse();

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  void skipSpace() {
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest[0])))
      rest.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skipSpace();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  /// What stands at the place reached instead of `what`.
  Status expected(const std::string &what);
  bool string(std::string &value);
  Status value(const std::string &key);
  Status tuple();
  Status integer(int64_t &value);

  std::string_view text, rest;
};

Status HeaderParser::expected(const std::string &what) {
  skipSpace();
  std::string got = "'" + std::string(rest.substr(0, 24)) + "'";
  return formatError("malformed .npy header: expected " + what + " at byte " +
                     std::to_string(text.size() - rest.size()) + ", got " +
                     (rest.empty() ? "its end" : got));
}

bool HeaderParser::string(std::string &value) {
  skipSpace();
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
    return false;
  size_t end = rest.find(rest[0], 1);
  if (end == std::string_view::npos)
    return false;
  value = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return true;
}

Status HeaderParser::integer(int64_t &value) {
  auto digit = [&] {
    return !rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0]));
  };
  skipSpace();
  std::string_view before = rest;
  auto error = [&](const char *what) {
    rest = before;
    return expected(what);
  };
  if (!digit())
    return error("a size of at least 0");
  value = 0;
  while (digit()) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, rest[0] - '0', &value))
      return error("a size below 2^63");
    rest.remove_prefix(1);
  }
  return {};
}

Status HeaderParser::tuple() {
  if (!take("("))
    return expected("a tuple of sizes");
  while (!take(")")) {
    if (Status status = integer(shape.emplace_back()); !status.ok())
      return status;
    if (take(","))
      continue;
    if (take(")"))
      break;
    return expected("',' or ')'");
  }
  return {};
}

Status HeaderParser::value(const std::string &key) {
  if (key == "shape")
    return tuple();
  if (key == "descr")
    return string(descr) ? Status() : expected("the name of a simple type");
  fortranOrder = take("True");
  return fortranOrder || take("False") ? Status() : expected("True or False");
}

Status HeaderParser::parse() {
  constexpr const char *keys[] = {"descr", "fortran_order", "shape"};
  bool seen[3] = {};
  if (!take("{"))
    return expected("'{'");
  while (!take("}")) {
    std::string key;
    std::string_view before = rest;
    if (!string(key))
      return expected("a key");
    const auto *known = std::find(std::begin(keys), std::end(keys), key);
    if (known == std::end(keys) || std::exchange(seen[known - keys], true)) {
      rest = before;
      return expected("'descr', 'fortran_order' and 'shape', once each,");
    }
    if (!take(":"))
      return expected("':'");
    if (Status status = value(key); !status.ok())
      return status;
    if (take(","))
      continue;
    if (take("}"))
      break;
    return expected("',' or '}'");
  }
  skipSpace();
  if (!rest.empty())
    return expected("nothing after '}'");
  for (size_t i = 0; i < std::size(keys); ++i)
    if (!seen[i])
      return formatError(std::string("malformed .npy header: it has no '") +
                         keys[i] + "'");
  return {};
}

struct NpyElementType {
  const char *text;
  DataType type;
};
// The spelling written is the first of a type.
constexpr NpyElementType descrs[] = {
    {"<f8", DataType::F64},        {"<f4", DataType::F32},
    {"<u8", DataType::U64},        {"<u4", DataType::U32},
    {"<u2", DataType::U16},        {"|u1", DataType::U8},
    {"<f2", DataType::F16},        {"<i8", DataType::I64},
    {"<i4", DataType::I32},        {"<i2", DataType::I16},
    {"|i1", DataType::I8},         {"|b1", DataType::I1},
    {"<i8", DataType::Index},      {"|V2", DataType::BF16},
    {"|V1", DataType::F8E4M3FN},   {"|V1", DataType::F8E5M2},
    {"|V1", DataType::F8E4M3FNUZ}, {"|V1", DataType::F8E5M2FNUZ}};

Status typeOf(const std::string &descr, std::optional<DataType> rawType,
              DataType &type) {
  if (descr.starts_with("|V")) {
    if (!rawType)
      return unsupported("raw elements '" + descr +
                         "': give their type with --dtype");
    if (descr != "|V" + std::to_string(byteSize(*rawType)))
      return invalidArgument("raw elements '" + descr + "', expected '|V" +
                             std::to_string(byteSize(*rawType)) +
                             "' for --dtype=" + spelling(*rawType));
    type = *rawType;
    return {};
  }
  for (const NpyElementType &known : descrs)
    if (descr == known.text) {
      type = known.type;
      return {};
    }
  if (descr == "|O")
    return unsupported("elements of type '|O' are pickled Python objects, "
                       "expected numbers");
  if (descr.starts_with(">"))
    return unsupported("big-endian elements '" + descr +
                       "', expected little-endian ones");
  return unsupported("elements of type '" + descr +
                     "', expected one of: <f8 <f4 <f2 <i8 <i4 <i2 |i1 <u8 <u4 "
                     "<u2 |u1 |b1 |V2 |V1 <c8 <c16");
}

Status parse(const MappedFile &file, std::optional<DataType> rawType,
             Array &array) {
  std::string_view bytes = file.bytes();
  if (bytes.starts_with("PK\x03\x04"))
    return formatError("expected one array, got an archive of several (.npz); "
                       "write each in Python: numpy.save('x.npy', "
                       "numpy.load(FILE)['x'])");
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
  // A complex number is a pair of reals: a dimension more.
  bool isComplex = header.descr == "<c8" || header.descr == "<c16";
  if (isComplex)
    array.dtype = header.descr == "<c8" ? DataType::F32 : DataType::F64;
  else if (Status status = typeOf(header.descr, rawType, array.dtype);
           !status.ok())
    return status;
  array.shape = header.shape;
  if (isComplex)
    array.shape.push_back(2);
  std::optional<int64_t> count = elementCount(array.shape);
  int64_t size = 0;
  if (array.shape.size() > 64)
    return formatError("malformed .npy header: expected at most 64 dimensions, "
                       "got " +
                       std::to_string(array.shape.size()));
  if (!count || __builtin_mul_overflow(*count, byteSize(array.dtype), &size))
    return formatError("the array in the .npy header, " + describeType(array) +
                       ", is too large");
  int64_t available = bytes.size() - start - length;
  if (size != available)
    return formatError(std::string(available < size ? "truncated" : "damaged") +
                       " .npy file: " + describeType(array) + " has " +
                       std::to_string(size) + " bytes, the file " +
                       std::to_string(available));
  array.strides = rowMajorStrides(array.shape);
  if (header.fortranOrder) {
    std::vector<int64_t> reversed(header.shape.rbegin(), header.shape.rend());
    reversed = rowMajorStrides(reversed);
    array.strides.assign(reversed.rbegin(), reversed.rend());
    if (isComplex) {
      for (int64_t &stride : array.strides)
        stride *= 2;
      array.strides.push_back(1);
    }
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
  for (const NpyElementType &known : descrs)
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
  return writeOutputFile(path, npyBytes(array));
}

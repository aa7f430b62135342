//===- SafeTensors.cpp - weight files -------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/SafeTensors.h"
#include "Crc32.h"
#include "format/JsonReader.h"
#include "format/JsonWriter.h"
#include "tp/Runtime/OutputFile.h"
#include <algorithm>

using namespace tp::runtime;

namespace {

// The format's own limit.
constexpr uint64_t maxHeaderBytes = 100'000'000;
/// A member of the header that is no tensor.
constexpr const char *metadataKey = "__metadata__";

struct TypeRow {
  const char *name;
  int64_t bytes;
  std::optional<DataType> type;
};
constexpr TypeRow typeRows[] = {
    {"F64", 8, DataType::F64},          {"F32", 4, DataType::F32},
    {"F16", 2, DataType::F16},          {"BF16", 2, DataType::BF16},
    {"I64", 8, DataType::I64},          {"I32", 4, DataType::I32},
    {"I16", 2, DataType::I16},          {"I8", 1, DataType::I8},
    {"BOOL", 1, DataType::I1},          {"U8", 1, DataType::U8},
    {"U16", 2, DataType::U16},          {"U32", 4, DataType::U32},
    {"U64", 8, DataType::U64},          {"F8_E5M2", 1, DataType::F8E5M2},
    {"F8_E4M3", 1, DataType::F8E4M3FN}, {"F8_E8M0", 1, std::nullopt},
};

const TypeRow *findType(const std::string &name) {
  for (const TypeRow &row : typeRows)
    if (name == row.name)
      return &row;
  return nullptr;
}

Status checkEntry(const std::string &key, const SafeTensors::Entry &entry,
                  uint64_t dataBytes) {
  auto error = [&](const std::string &what) {
    return formatError("tensor '" + key + "' " + what);
  };
  if (entry.begin > entry.end || entry.end > dataBytes)
    return error("lies at bytes " + std::to_string(entry.begin) + " to " +
                 std::to_string(entry.end) + " of " +
                 std::to_string(dataBytes) +
                 (entry.end > dataBytes ? ": the file is truncated" : ""));
  const TypeRow *type = findType(entry.dtype);
  std::optional<int64_t> count = elementCount(entry.shape);
  int64_t size = 0;
  if (!count || __builtin_mul_overflow(*count, type ? type->bytes : 1, &size))
    return error("has a shape that is too large");
  // Of a type that is not known neither is the size.
  if (type && uint64_t(size) != entry.end - entry.begin)
    return error("of type " + entry.dtype + " and " + std::to_string(*count) +
                 " elements needs " + std::to_string(size) + " bytes, has " +
                 std::to_string(entry.end - entry.begin));
  return {};
}

/// The data section must be covered without overlap and without holes.
Status checkCoverage(const std::map<std::string, SafeTensors::Entry> &table,
                     uint64_t dataBytes) {
  std::vector<std::pair<const SafeTensors::Entry *, const std::string *>> order;
  for (const auto &[key, entry] : table)
    if (entry.begin != entry.end)
      order.push_back({&entry, &key});
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return a.first->begin < b.first->begin;
  });
  uint64_t end = 0;
  const std::string *last = nullptr;
  for (const auto &[entry, key] : order) {
    if (entry->begin < end)
      return formatError("tensors '" + *last + "' and '" + *key + "' overlap");
    if (entry->begin > end)
      return formatError("bytes " + std::to_string(end) + " to " +
                         std::to_string(entry->begin) + " belong to no tensor");
    end = entry->end;
    last = key;
  }
  if (end != dataBytes)
    return formatError("its tensors end at byte " + std::to_string(end) +
                       ", its data at " + std::to_string(dataBytes));
  return {};
}

} // namespace

Status SafeTensors::open(const std::string &path, SafeTensors &file) {
  SafeTensors opened;
  opened.file = std::make_shared<MappedFile>();
  if (Status status = MappedFile::open(path, *opened.file, MappedFile::Parts);
      !status.ok())
    return status;
  if (Status status = opened.readHeader(); !status.ok())
    return status.within(path);
  file = std::move(opened);
  return {};
}

/// A file of torch.save: an archive, or a pickle before PyTorch 1.6.
static bool isPickle(std::string_view bytes) {
  bool isProtocol = bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 &&
                    bytes[1] <= 5 && uint8_t(bytes[2]) >= 0x20;
  return bytes.starts_with("PK\x03\x04") || isProtocol;
}

Status SafeTensors::readHeader() {
  uint64_t size = file->fileSize();
  constexpr uint64_t mostOfMagic = 8;
  MappedFile start;
  if (Status status = file->map(0, std::min(size, mostOfMagic), start);
      !status.ok())
    return status;
  std::string_view bytes = start.bytes();
  if (isPickle(bytes))
    return formatError(
        "expected a .safetensors file, got a pickle, as torch.save writes it; "
        "write in Python: safetensors.torch.save_file(torch.load(FILE, "
        "weights_only=True), 'weights.safetensors')");
  if (bytes.starts_with("GGUF"))
    return formatError("expected a .safetensors file, got a GGUF file");
  if (bytes.starts_with("\x93NUMPY"))
    return formatError("expected a .safetensors file, got a .npy file: give an "
                       "array by --input=NAME=@FILE");
  if (bytes.size() < 8)
    return formatError("truncated .safetensors file: no room for a header");
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  if (length > size - 8)
    return formatError("truncated .safetensors file: its header needs " +
                       std::to_string(length) + " bytes, the file has " +
                       std::to_string(size - 8) + " after the length");
  if (length > maxHeaderBytes)
    return formatError("a .safetensors header has at most " +
                       std::to_string(maxHeaderBytes) + " bytes, this one " +
                       std::to_string(length));
  dataStart = 8 + length;
  uint64_t dataBytes = size - dataStart;
  MappedFile text;
  if (Status status = file->map(8, length, text); !status.ok())
    return status;
  nlohmann::json header;
  if (Status status = parseJson(text.bytes(), header); !status.ok())
    return status.within("header");
  if (!header.is_object())
    return formatError("header: expected an object");
  Status status;
  for (const auto &member : header.items()) {
    if (member.key() == metadataKey)
      continue;
    JsonReader reader(member.value(), status);
    Entry entry;
    entry.dtype = reader.at("dtype").text();
    entry.shape = reader.at("shape").integers();
    std::vector<int64_t> offsets = reader.at("data_offsets").integers();
    if (status.ok() && offsets.size() != 2)
      reader.at("data_offsets").error("expected two offsets");
    if (!status.ok())
      return status.within("tensor '" + member.key() + "'");
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (Status checked = checkEntry(member.key(), entry, dataBytes);
        !checked.ok())
      return checked;
    table.emplace(member.key(), std::move(entry));
  }
  return checkCoverage(table, dataBytes);
}

Status SafeTensors::map(const Entry &entry, MappedFile &part) const {
  return file->map(dataStart + entry.begin, entry.end - entry.begin, part);
}

Status SafeTensors::compare(const Entry &entry, const SafeTensors &other,
                            const Entry &otherEntry, bool &equal) const {
  MappedFile mine, others;
  if (Status status = map(entry, mine); !status.ok())
    return status;
  if (Status status = other.map(otherEntry, others); !status.ok())
    return status;
  equal = mine.bytes() == others.bytes();
  return {};
}

Status SafeTensors::array(const std::string &key, Array &array) const {
  ArraySource tensor;
  Status status = source(key, tensor);
  return status.ok() ? tensor.elements(array) : status;
}

Status SafeTensors::source(const std::string &key, ArraySource &source) const {
  auto found = table.find(key);
  if (found == table.end()) {
    std::string names;
    constexpr size_t mostListed = 12;
    size_t listed = 0;
    for (const auto &[name, entry] : table)
      if (listed++ < mostListed)
        names += (names.empty() ? "" : ", ") + name;
    return invalidArgument(path() + ": no tensor '" + key + "', there are: " +
                           names + (listed > mostListed ? ", ..." : ""));
  }
  const Entry &entry = found->second;
  const TypeRow *type = findType(entry.dtype);
  if (!type || !type->type)
    return unsupported(
        path() + ": tensor '" + key + "' has the type " + entry.dtype +
        ", expected one of: F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 "
        "BOOL F8_E5M2 F8_E4M3");
  source.dtype = *type->type;
  source.shape = entry.shape;
  source.elements = [file = file, dtype = source.dtype, shape = entry.shape,
                     begin = dataStart + entry.begin,
                     size = entry.end - entry.begin](Array &array) {
    auto part = std::make_shared<MappedFile>();
    if (Status status = file->map(begin, size, *part); !status.ok())
      return status;
    array.dtype = dtype;
    array.shape = shape;
    array.strides = rowMajorStrides(shape);
    array.data = part->bytes().data();
    array.owner = std::move(part);
    return Status();
  };
  return {};
}

/// Null for a type that the format lacks.
static const char *typeName(DataType dtype) {
  if (dtype == DataType::Index)
    dtype = DataType::I64;
  for (const TypeRow &row : typeRows)
    if (row.type == dtype)
      return row.name;
  return nullptr;
}

Status tp::runtime::checkSafeTensor(const std::string &key, DataType dtype) {
  if (typeName(dtype) && key != metadataKey)
    return {};
  std::string what = typeName(dtype)
                         ? " is no name of a tensor in a .safetensors file"
                         : std::string(" is ") + spelling(dtype) +
                               ", which no .safetensors file can hold";
  return unsupported("'" + key + "'" + what + ": write it as .npy");
}

/// What a file of tensors begins with, their data behind it in order. Of each
/// the dtype and the shape count.
template <typename Tensor>
static Status makeHeader(const std::map<std::string, Tensor> &tensors,
                         std::string &file, bool namesFormat = false) {
  JsonWriter header;
  int64_t end = 0;
  Status status;
  header.object([&] {
    if (namesFormat)
      header.objectMember(metadataKey, [&] { header.member("format", "pt"); });
    for (const auto &[key, tensor] : tensors) {
      status = checkSafeTensor(key, tensor.dtype);
      if (!status.ok())
        return;
      int64_t begin = end;
      end += elementCount(tensor.shape).value_or(0) * byteSize(tensor.dtype);
      header.objectMember(key, [&] {
        header.member("dtype", typeName(tensor.dtype));
        header.member("shape", tensor.shape);
        header.member("data_offsets", std::vector<int64_t>{begin, end});
      });
    }
  });
  if (!status.ok())
    return status;
  std::string text = header.take();
  // The data starts at a multiple of 8, as others write it.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  for (int i = 0; i < 8; ++i)
    file.push_back(char(uint64_t(text.size()) >> (8 * i)));
  file += text;
  return {};
}

Status
tp::runtime::writeSafeTensors(const std::string &path,
                              const std::map<std::string, Array> &arrays) {
  std::string file;
  if (Status status = makeHeader(arrays, file); !status.ok())
    return status.within(path);
  for (const auto &[key, array] : arrays) {
    Array dense = rowMajor(array);
    file.append(dense.data, dense.bytes());
  }
  return writeOutputFile(path, file);
}

Status tp::runtime::writeDurableSafeTensors(
    const std::string &path, const std::map<std::string, ArraySource> &tensors,
    WrittenFile *written) {
  std::string header;
  if (Status status = makeHeader(tensors, header, written != nullptr);
      !status.ok())
    return status.within(path);
  auto next = tensors.begin();
  Array array;
  auto partAt = [&](size_t part, std::string_view &bytes) -> Status {
    bytes = header;
    if (part > 0) {
      array = {};
      if (Status status = next++->second.elements(array); !status.ok())
        return status;
      array = rowMajor(array);
      bytes = std::string_view(array.data, array.bytes());
    }
    if (written) {
      written->bytes += bytes.size();
      written->crc = crc32(bytes, written->crc);
    }
    return {};
  };
  return writeDurableFile(path, tensors.size() + 1, partAt);
}

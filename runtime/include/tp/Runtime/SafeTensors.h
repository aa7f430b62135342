//===- SafeTensors.h - weight files -----------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_SAFETENSORS_H
#define TP_RUNTIME_SAFETENSORS_H

#include "tp/Runtime/Array.h"
#include <map>

namespace tp::runtime {

/// A .safetensors file whose header has been checked: offsets inside the file,
/// no overlap, no gaps, sizes that match the shapes. Its tensors are mapped one
/// by one, when they are used.
class SafeTensors {
public:
  struct Entry {
    /// As the file spells it; may be one that tp has no type for.
    std::string dtype;
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0; // in the data section
  };

  static Status open(const std::string &path, SafeTensors &file);

  const std::string &path() const { return file->path(); }
  const std::map<std::string, Entry> &entries() const { return table; }
  /// The tensor `key`, which is mapped when its elements are asked for. A dtype
  /// that tp lacks is an error.
  Status source(const std::string &key, ArraySource &source) const;
  /// The same, mapped now.
  Status array(const std::string &key, Array &array) const;
  /// Whether two tensors have the same bytes.
  Status compare(const Entry &entry, const SafeTensors &other,
                 const Entry &otherEntry, bool &equal) const;

private:
  Status readHeader();
  Status map(const Entry &entry, MappedFile &part) const;

  std::shared_ptr<MappedFile> file;
  std::map<std::string, Entry> table;
  size_t dataStart = 0;
};

/// Fails for a key and a dtype that no tensor of a .safetensors file can have.
Status checkSafeTensor(const std::string &key, DataType dtype);
/// Writes these arrays by their keys (tp/Runtime/OutputFile.h); an index is an
/// i64. Fails where checkSafeTensor does.
Status writeSafeTensors(const std::string &path,
                        const std::map<std::string, Array> &arrays);

/// What a file that has been written holds.
struct WrittenFile {
  uint64_t bytes = 0;
  uint32_t crc = 0;
};
/// The same through tp/Runtime/OutputFile.h's writeDurableFile, with one tensor
/// at a time in memory. With `written` the file names its format, as libraries
/// of models expect it, and is described.
Status
writeDurableSafeTensors(const std::string &path,
                        const std::map<std::string, ArraySource> &tensors,
                        WrittenFile *written = nullptr);

/// Puts the file of weights of a folder in the folder's place: an index, or a
/// file of the name that checkpoints and tp.Model.save give it. Other paths
/// stay as they are.
Status findWeightFile(std::string &path);

/// All weight files of a run: .safetensors, and .safetensors.index.json, which
/// name the files that hold each key.
class WeightFiles {
public:
  /// A key that two files hold with different bytes is an error.
  static Status open(const std::vector<std::string> &paths, WeightFiles &files);

  bool contains(const std::string &key) const { return places.contains(key); }
  /// Of all tensors, in order.
  std::vector<std::string> keys() const;

  /// The one tensor stored under any of `keys`, and which key and file it is.
  /// Two of the keys with different contents, or none, are errors.
  Status find(const std::vector<std::string> &keys, ArraySource &array,
              std::string &place) const;
  /// The error for tensors that no file has.
  Status lacks(const std::string &tensors) const;

private:
  Status add(const std::string &path);
  Status addIndex(const std::string &path);
  Status addFile(const std::string &path);

  std::vector<SafeTensors> files;
  /// Key -> position in `files`.
  std::map<std::string, size_t> places;
  std::string listing;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_SAFETENSORS_H

//===- tp-index-fuzzer.cpp - indices of sharded weights -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/SafeTensors.h"
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tp::runtime;

namespace {

/// Two weight files for an index to name, in a folder of its own.
class Folder {
public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tp-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      abort();
    path = pattern + "/";
    writeWeights("a.safetensors", "v");
    writeWeights("b.safetensors", "w");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string write(const std::string &name, const std::string &bytes) {
    std::ofstream(path + name, std::ios::binary) << bytes;
    return path + name;
  }

private:
  void writeWeights(const std::string &name, const std::string &key) {
    std::string header = "{\"" + key +
                         "\": {\"dtype\": \"F32\", \"shape\": [2], "
                         "\"data_offsets\": [0, 8]}}";
    std::string length(8, '\0');
    length[0] = char(header.size());
    write(name, length + header + "12345678");
  }

  std::string path;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  std::string path =
      folder.write("model.safetensors.index.json",
                   std::string(reinterpret_cast<const char *>(data), size));
  WeightFiles weights;
  if (!WeightFiles::open({path}, weights).ok())
    return 0;
  ArraySource source;
  Array array;
  std::string place;
  for (const char *key : {"v", "w"})
    if (weights.find({key}, source, place).ok() &&
        source.elements(array).ok() && array.elements() != 2)
      abort();
  return 0;
}

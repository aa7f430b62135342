//===- MappedFile.h - a file mapped for reading -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_MAPPEDFILE_H
#define TP_RUNTIME_MAPPEDFILE_H

#include "tp/Runtime/Status.h"
#include <string>
#include <string_view>

namespace tp::runtime {

/// A regular file in memory, read-only. Where it is shared, pages are read when
/// they are touched.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }
  MappedFile &operator=(MappedFile &&other) noexcept;

  enum Content {
    /// Pages of the file: another program that writes it changes them too.
    Shared,
    /// A copy as the file is now.
    Copied,
  };
  /// Messages start with the path. A directory or a device is an error.
  static Status open(const std::string &path, MappedFile &file,
                     Content content = Shared);

  std::string_view bytes() const { return {data, size}; }
  const std::string &path() const { return filePath; }

private:
  std::string filePath;
  const char *data = nullptr;
  size_t size = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_MAPPEDFILE_H

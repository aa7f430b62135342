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
#include <sys/stat.h>

namespace tp::runtime {

/// A regular file in memory, read-only. Where it is shared, pages are read when
/// they are touched: a file that somebody makes shorter meanwhile ends the
/// process by SIGBUS where a page is gone, and a host that handles it asks
/// pathAt whose page it was.
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

  /// An error if a file that is shared now is not what it was when it was
  /// opened: what was read of it may be part old, part new. With `byName` also
  /// if the name leads to another file, for those who open it again.
  static Status checkAllUnchanged(bool byName);
  /// The path of the shared file that `address` lies in, or null. For signal
  /// handlers.
  static const char *pathAt(const void *address);

  std::string_view bytes() const { return {data, size}; }
  const std::string &path() const { return filePath; }

private:
  struct Mapping;
  static Mapping *claim(const MappedFile &file, int descriptor,
                        const struct stat &opened);

  std::string filePath;
  Mapping *mapping = nullptr;
  const char *data = nullptr;
  size_t size = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_MAPPEDFILE_H

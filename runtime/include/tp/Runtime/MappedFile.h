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

/// A regular file, or a part of one, in memory, read-only. A shared mapping
/// reads pages when they are touched. If another process truncates the file
/// meanwhile, touching a lost page raises SIGBUS; a handler can find the file
/// by pathAt.
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
    /// Nothing yet: `map` maps parts.
    Parts,
  };
  /// Messages start with the path. A directory or a device is an error.
  static Status open(const std::string &path, MappedFile &file,
                     Content content = Shared);
  /// Maps bytes of a file that was opened as Parts, as long as `part` lives. So
  /// a file that is larger than the memory, or than a limit of the address
  /// space, can be read.
  Status map(uint64_t offset, uint64_t bytes, MappedFile &part) const;

  /// An error if a shared file has changed since it was opened: the data read
  /// from it may be partly old, partly new. With `byName` also if its name now
  /// leads to another file, for callers that open it again.
  static Status checkAllUnchanged(bool byName);
  /// The path of the shared file that `address` lies in, or null. For signal
  /// handlers.
  static const char *pathAt(const void *address);

  std::string_view bytes() const { return {data + skipped, size - skipped}; }
  /// Of the whole file when it was opened.
  uint64_t fileSize() const { return wholeSize; }
  const std::string &path() const { return filePath; }

private:
  struct Mapping;
  static Mapping *claim(const MappedFile &file, int descriptor,
                        const struct stat &opened);

  std::string filePath;
  Mapping *mapping = nullptr;
  const char *data = nullptr;
  size_t size = 0;
  /// Bytes of the first page that are none of the part's.
  size_t skipped = 0;
  uint64_t wholeSize = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_MAPPEDFILE_H

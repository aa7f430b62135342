//===- OutputFile.h - files that a command line names -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every file that a tool of tp writes is written here. A regular file is
// replaced by a whole new one. Nothing else is ever replaced: symbolic links
// are followed, devices and FIFOs are written in place. Depends on nothing but
// the C++ library, so that the compiler uses it too.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_OUTPUTFILE_H
#define TP_RUNTIME_OUTPUTFILE_H

#include "tp/Runtime/Status.h"
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tp::runtime {

/// The destination of an output path.
struct OutputPlace {
  enum class Kind {
    /// A regular file, or a name that is still free.
    File,
    /// A character device or a FIFO.
    Stream,
    /// A descriptor that this process has open, as of /dev/stdout.
    Descriptor,
  };
  Kind kind = Kind::File;
  /// The name behind all symbolic links.
  std::string path;
  /// Of Kind::Descriptor.
  int descriptor = -1;

  /// Fails for a folder, a socket, a block device, a name in a folder that does
  /// not exist, and a file that this user cannot write.
  static Status find(const std::string &path, OutputPlace &place);
};

/// Fails unless every path of `written` can be written and is no file that is
/// read or written too, under whatever name. Writes nothing. Character devices
/// and descriptors may be given several times.
Status checkOutputs(const std::vector<std::string> &written,
                    const std::vector<std::string> &read);

/// Writes these bytes to `path`. A regular file is replaced: a reader never
/// sees half a file, and a failure leaves the old file. The new file has no
/// name until it is whole, where the file system can do that; else it has a
/// temporary one beside the old file. One thread at a time.
Status writeOutputFile(const std::string &path, std::string_view bytes);

/// The same with the bytes of `parts` parts, one after the other: `partAt`
/// gives each, which stays until the next call, or an error, which leaves the
/// old file. The file is on the disk before
/// it gets its name: whatever happens, the name is that of the old file or of
/// the whole new one. One thread at a time.
Status writeDurableFile(
    const std::string &path, size_t parts,
    const std::function<Status(size_t, std::string_view &)> &partAt);

/// Where writeDurableFile would write; fails for what is no file.
Status findDurablePlace(const std::string &path, OutputPlace &place);

/// Removes the file that writeOutputFile is writing, if it has a temporary
/// name: for handlers of signals that end the process. Async-signal-safe.
void removeUnfinishedFile();

} // namespace tp::runtime

#endif // TP_RUNTIME_OUTPUTFILE_H

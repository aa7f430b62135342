//===- TemporaryFile.h - files for other programs ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_FILES_TEMPORARYFILE_H
#define TP_FILES_TEMPORARYFILE_H

#include "tp/Runtime/Status.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

namespace tp {

/// A file in the folder for temporary files, which goes when this does.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  /// Makes the file, with `content`; its name ends in `suffix`. Fails where the
  /// folder is not there, or full.
  runtime::Status create(llvm::StringRef suffix, llvm::StringRef content = "");
  llvm::StringRef path() const { return where; }

private:
  llvm::SmallString<128> where;
};

} // namespace tp

#endif // TP_FILES_TEMPORARYFILE_H

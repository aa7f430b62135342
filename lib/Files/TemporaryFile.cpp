//===- TemporaryFile.cpp - files for other programs -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Files/TemporaryFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace tp;

static runtime::Status failed(llvm::StringRef path, std::error_code error) {
  return runtime::fileError("cannot write a temporary file in '" +
                            llvm::sys::path::parent_path(path).str() + "': " +
                            error.message() + "; TMPDIR names another folder");
}

TemporaryFile::~TemporaryFile() {
  if (!where.empty())
    llvm::sys::fs::remove(where);
}

runtime::Status TemporaryFile::create(llvm::StringRef suffix,
                                      llvm::StringRef content) {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
  llvm::sys::path::append(path, "tp-%%%%%%" + suffix);
  int descriptor = 0;
  if (std::error_code error =
          llvm::sys::fs::createUniqueFile(path, descriptor, where)) {
    where.clear();
    return failed(path, error);
  }
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  file << content;
  file.close();
  std::error_code error = file.error();
  // A stream that ends with an error ends the program.
  file.clear_error();
  return error ? failed(where, error) : runtime::Status();
}

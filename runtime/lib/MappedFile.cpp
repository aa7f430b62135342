//===- MappedFile.cpp - a file mapped for reading -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/MappedFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tp::runtime;

MappedFile::~MappedFile() {
  if (size)
    munmap(const_cast<char *>(data), size);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

Status MappedFile::open(const std::string &path, MappedFile &file) {
  // The system would take what stands before it for the name.
  if (path.find('\0') != std::string::npos)
    return fileError(path + ": a file name cannot hold a zero byte");
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fileError(path + ": cannot open: " + std::strerror(errno));
  struct stat info;
  Status status;
  MappedFile mapped;
  mapped.filePath = path;
  if (fstat(descriptor, &info) != 0) {
    status = fileError(path + ": cannot read: " + std::strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status = fileError(path + ": not a regular file");
  } else if (info.st_size > 0) {
    // An empty file cannot be mapped; it stays an empty view.
    void *memory =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      status = fileError(path + ": cannot map: " + std::strerror(errno));
    } else {
      mapped.data = static_cast<const char *>(memory);
      mapped.size = info.st_size;
    }
  }
  ::close(descriptor);
  if (status.ok())
    file = std::move(mapped);
  return status;
}

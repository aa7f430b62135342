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

/// Memory with the first `size` bytes of the file, or MAP_FAILED with errno.
static void *readWhole(int descriptor, size_t size) {
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return memory;
  for (size_t done = 0; done < size;) {
    ssize_t count =
        ::read(descriptor, static_cast<char *>(memory) + done, size - done);
    if (count > 0) {
      done += count;
      continue;
    }
    if (count < 0 && errno == EINTR)
      continue;
    // A file that has become shorter ends with zeros: its reader finds them.
    if (count == 0)
      break;
    int error = errno;
    munmap(memory, size);
    errno = error;
    return MAP_FAILED;
  }
  mprotect(memory, size, PROT_READ);
  return memory;
}

Status MappedFile::open(const std::string &path, MappedFile &file,
                        Content content) {
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
    void *memory = content == Copied ? readWhole(descriptor, info.st_size)
                                     : mmap(nullptr, info.st_size, PROT_READ,
                                            MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      status = fileError(path + ": cannot read: " + std::strerror(errno));
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

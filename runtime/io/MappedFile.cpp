//===- MappedFile.cpp - a file mapped for reading -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/MappedFile.h"
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tp::runtime;

/// One row per file that is open and per part that is mapped. Rows stay for
/// good and are used again, so that a signal handler can walk them at any time.
struct MappedFile::Mapping {
  bool taken = false;
  /// Null where nothing of the file is mapped by this row.
  std::atomic<const char *> begin = nullptr;
  size_t size = 0;
  std::string path;
  /// Of a part -1: its file has a row of its own.
  int descriptor = -1;
  struct stat opened = {};
  Mapping *next = nullptr;
};

static std::mutex claiming;
static std::atomic<void *> firstMapping = nullptr;

/// A row of its own for `file`, which has the descriptor from now on.
MappedFile::Mapping *MappedFile::claim(const MappedFile &file, int descriptor,
                                       const struct stat &opened) {
  std::lock_guard lock(claiming);
  auto *first = static_cast<Mapping *>(firstMapping.load());
  Mapping *row = first;
  while (row && row->taken)
    row = row->next;
  if (!row) {
    row = new Mapping;
    row->next = first;
    firstMapping = row;
  }
  row->taken = true;
  row->size = file.size;
  row->path = file.filePath;
  row->descriptor = descriptor;
  row->opened = opened;
  row->begin = file.data;
  return row;
}

const char *MappedFile::pathAt(const void *address) {
  const char *byte = static_cast<const char *>(address);
  for (auto *row = static_cast<Mapping *>(firstMapping.load()); row;
       row = row->next) {
    const char *begin = row->begin;
    if (begin && byte >= begin && byte < begin + row->size)
      return row->path.c_str();
  }
  return nullptr;
}

Status MappedFile::checkAllUnchanged(bool byName) {
  std::lock_guard lock(claiming);
  for (auto *row = static_cast<Mapping *>(firstMapping.load()); row;
       row = row->next) {
    if (!row->taken || row->descriptor < 0)
      continue;
    const struct stat &before = row->opened;
    struct stat now;
    bool same = fstat(row->descriptor, &now) == 0 &&
                now.st_size == before.st_size &&
                now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (same && byName)
      same = stat(row->path.c_str(), &now) == 0 &&
             now.st_ino == before.st_ino && now.st_dev == before.st_dev;
    if (!same)
      return fileError(row->path + ": changed while it was read");
  }
  return {};
}

MappedFile::~MappedFile() {
  if (mapping) {
    std::lock_guard lock(claiming);
    mapping->begin = nullptr;
    mapping->taken = false;
    if (mapping->descriptor >= 0)
      ::close(mapping->descriptor);
  }
  if (size)
    munmap(const_cast<char *>(data), size);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(mapping, other.mapping);
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(skipped, other.skipped);
  std::swap(wholeSize, other.wholeSize);
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

static Status cannotMap(const std::string &path, uint64_t bytes) {
  int error = errno;
  if (error == ENOMEM)
    return systemError(path + ": out of memory: cannot map " +
                       std::to_string(bytes) + " bytes of it");
  return fileError(path + ": cannot read: " + std::strerror(error));
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
  } else if (content == Parts) {
    mapped.mapping = claim(mapped, descriptor, info);
  } else if (info.st_size > 0) {
    // An empty file cannot be mapped; it stays an empty view.
    void *memory = content == Copied ? readWhole(descriptor, info.st_size)
                                     : mmap(nullptr, info.st_size, PROT_READ,
                                            MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      status = cannotMap(path, info.st_size);
    } else {
      mapped.data = static_cast<const char *>(memory);
      mapped.size = info.st_size;
      if (content == Shared)
        mapped.mapping = claim(mapped, descriptor, info);
    }
  }
  mapped.wholeSize = status.ok() ? info.st_size : 0;
  if (!mapped.mapping)
    ::close(descriptor);
  if (status.ok())
    file = std::move(mapped);
  return status;
}

Status MappedFile::map(uint64_t offset, uint64_t bytes,
                       MappedFile &part) const {
  MappedFile mapped;
  mapped.filePath = filePath;
  mapped.wholeSize = wholeSize;
  if (offset > wholeSize || bytes > wholeSize - offset)
    return fileError(filePath + ": expected " + std::to_string(bytes) +
                     " bytes from " + std::to_string(offset) +
                     " on, the file has " + std::to_string(wholeSize));
  if (bytes > 0) {
    size_t skipped = offset % sysconf(_SC_PAGESIZE);
    void *memory = mmap(nullptr, skipped + bytes, PROT_READ, MAP_PRIVATE,
                        mapping->descriptor, offset - skipped);
    if (memory == MAP_FAILED)
      return cannotMap(filePath, bytes);
    mapped.data = static_cast<const char *>(memory);
    mapped.size = skipped + bytes;
    mapped.skipped = skipped;
    mapped.mapping = claim(mapped, /*descriptor=*/-1, {});
  }
  part = std::move(mapped);
  return {};
}

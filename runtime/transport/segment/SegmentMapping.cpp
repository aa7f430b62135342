//===- SegmentMapping.cpp - what a process maps of a segment --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedSegment.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

constexpr int64_t pageBytes = 4096;

int64_t alignTo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool isAddressSpaceLimited() {
  rlimit space;
  return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
}

Status cannotMap(int64_t bytes, const std::string &what) {
  int error = errno;
  return systemError(std::string(error == ENOMEM ? "out of memory: " : "") +
                     "cannot map " + std::to_string(bytes) + " bytes of " +
                     what + ": " + std::strerror(error));
}

} // namespace

SharedSegment::SharedSegment(const EntryView &entry)
    : numRanks(entry.numRanks()), numChannels(entry.groups.size() + 1),
      memories(entry.numRanks()) {
  stationsOffset = SegmentHead(numRanks).bytes();
  int64_t stations = numChannels * numRanks;
  payloadOffset = alignTo(
      stationsOffset + stations * int64_t(sizeof(ArrivalSlot)), pageBytes);
  memoryOffset = alignTo(payloadOffset + stations * 2 * inlineBytes, pageBytes);
  memoryBytes = alignTo(RankMemory(entry).bytes, pageBytes);
  totalBytes = memoryOffset + numRanks * memoryBytes;
}

SharedSegment::~SharedSegment() {
  for (char *memory : memories)
    if (memory && !mapsAllMemory())
      munmap(memory, memoryBytes);
  if (base)
    munmap(base, mappedBytes);
  if (file >= 0)
    close(file);
}

Status SharedSegment::mapAnonymous() {
  // Pages come with first use, by the rank that uses them.
  void *memory = mmap(nullptr, totalBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return systemError("cannot allocate " + std::to_string(totalBytes) +
                       " bytes for " + std::to_string(numRanks) +
                       " ranks: " + std::strerror(errno));
  base = static_cast<char *>(memory);
  mappedBytes = totalBytes;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    memories[rank] = base + offsetOfMemory(rank);
  madvise(base + memoryOffset, totalBytes - memoryOffset, MADV_HUGEPAGE);
  control().bytes = totalBytes;
  return {};
}

Status SharedSegment::makeFile(int64_t bytes, int &descriptor) {
  // No MFD_CLOEXEC: the ranks are children that inherit it.
  int created = memfd_create("tp-ranks", 0);
  if (created < 0)
    return systemError(std::string("cannot make shared memory: ") +
                       std::strerror(errno));
  if (ftruncate(created, bytes) != 0) {
    int error = errno;
    close(created);
    return systemError("cannot make " + std::to_string(bytes) +
                       " bytes of shared memory: " + std::strerror(error));
  }
  descriptor = created;
  return {};
}

Status SharedSegment::mapStart(int descriptor, int64_t bytes) {
  void *memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return cannotMap(bytes, "the ranks' shared memory");
  base = static_cast<char *>(memory);
  mappedBytes = bytes;
  if (mapsAllMemory())
    for (int64_t rank = 0; rank < numRanks; ++rank)
      memories[rank] = base + offsetOfMemory(rank);
  return {};
}

Status SharedSegment::mapNewFile() {
  int created = -1;
  if (Status status = makeFile(totalBytes, created); !status.ok())
    return status;
  Status status =
      mapStart(created, isAddressSpaceLimited() ? memoryOffset : totalBytes);
  if (!status.ok()) {
    close(created);
    return status;
  }
  file = created;
  control().bytes = totalBytes;
  return {};
}

Status SharedSegment::mapFile(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return systemError(std::string("cannot use the shared memory: ") +
                       std::strerror(errno));
  if (info.st_size != totalBytes)
    return invalidArgument(
        "the shared memory has " + std::to_string(info.st_size) +
        " bytes, the artifact needs " + std::to_string(totalBytes));
  if (!isAddressSpaceLimited())
    return mapStart(descriptor, totalBytes);
  if (Status status = mapStart(descriptor, memoryOffset); !status.ok())
    return status;
  // Its owner may close it once all ranks have attached.
  file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return file >= 0 ? Status()
                   : systemError(std::string("cannot use the shared memory: ") +
                                 std::strerror(errno));
}

Status SharedSegment::mapMemory(int64_t rank) {
  if (memories[rank])
    return {};
  void *memory = mmap(nullptr, memoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      file, offsetOfMemory(rank));
  if (memory == MAP_FAILED)
    return cannotMap(memoryBytes, "rank " + std::to_string(rank) + "'s memory");
  memories[rank] = static_cast<char *>(memory);
  return {};
}

Status SharedSegment::read(uint64_t offset, int64_t bytes, char *to) const {
  while (bytes > 0) {
    ssize_t count = pread(file, to, bytes, offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return systemError(std::string("cannot read the shared memory: ") +
                         (count < 0 ? std::strerror(errno) : "it ends early"));
    to += count;
    offset += count;
    bytes -= count;
  }
  return {};
}

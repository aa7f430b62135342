//===- AddressSpace.cpp - room for the ranks of a process -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Launch/AddressSpace.h"
#include "tp/Runtime/Transport.h"
#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

constexpr int64_t mebibyte = 1 << 20;
/// What a thread takes: OpenBLAS's buffer, one of malloc's heaps.
constexpr int64_t productBuffer = 128 * mebibyte, heap = 64 * mebibyte;
/// For what the libraries compile and keep.
constexpr int64_t reserve = 32 * mebibyte;

int64_t usedAddressSpace() {
  long long pages = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

} // namespace

Status tp::runtime::checkAddressSpace(const EntryView &entry, int64_t threads,
                                      int64_t mapped) {
  rlimit space, stack;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
    return {};
  // The default of the C library where there is no limit.
  int64_t stackBytes = 8 * mebibyte;
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
    stackBytes = int64_t(stack.rlim_cur);
  int64_t used = usedAddressSpace();
  int64_t free = int64_t(space.rlim_cur) - used;
  int64_t needed = reserve + mapped * RankMemory(entry).bytes +
                   threads * (stackBytes + heap + productBuffer);
  if (free >= needed)
    return {};
  return systemError("out of memory: " + std::to_string(threads) +
                     (threads == 1 ? " rank needs " : " ranks need ") +
                     std::to_string(needed) +
                     " bytes of address space, the limit (ulimit -v) leaves " +
                     std::to_string(free > 0 ? free : 0) +
                     (mapped > 1 ? ": expected a higher limit, or processes, "
                                   "each of which maps its own rank's memory"
                                 : ""));
}

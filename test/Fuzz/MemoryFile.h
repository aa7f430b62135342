//===- MemoryFile.h - a file that is never on a disk ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_MEMORYFILE_H
#define TP_TEST_FUZZ_MEMORYFILE_H

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tp::fuzz {

/// The fuzzer's bytes as a file that readers can open by its path.
class MemoryFile {
public:
  MemoryFile(const void *data, size_t size)
      : descriptor(memfd_create("tp-fuzz", MFD_CLOEXEC)) {
    if (descriptor < 0 || write(descriptor, data, size) != ssize_t(size))
      abort();
  }
  explicit MemoryFile(const std::string &bytes)
      : MemoryFile(bytes.data(), bytes.size()) {}
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_MEMORYFILE_H

//===- tp-artifact-fuzzer.cpp - containers of programs --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/ArtifactFile.h"
#include <cstring>

using namespace tp::runtime;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// A change at random breaks a checksum: most get the right one again, and the
/// right size of the file, so that what lies behind is reached.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 == 0 || size < 24)
    return size;
  uint64_t stated = size;
  std::memcpy(data + 16, &stated, 8);
  uint32_t count;
  std::memcpy(&count, data + 12, 4);
  for (size_t entry = 24; count > 0 && entry + 40 <= size; entry += 40) {
    uint64_t place[2];
    std::memcpy(place, data + entry + 16, 16);
    if (place[0] <= size && place[1] <= size - place[0]) {
      uint64_t sum =
          checksum({reinterpret_cast<const char *>(data) + place[0], place[1]});
      std::memcpy(data + entry + 32, &sum, 8);
    }
    --count;
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tp::fuzz::MemoryFile file(data, size);
  ArtifactFile container;
  if (!ArtifactFile::open(file.path(), container).ok())
    return 0;
  // Code is trusted as any program is; the loader is not what is tested.
  if (container.section("code"))
    return 0;
  std::unique_ptr<Artifact> artifact;
  (void)Artifact::open(file.path(), artifact);
  return 0;
}

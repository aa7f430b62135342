//===- SharedRaces.cpp - unordered accesses to shared memory --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedRaces.h"

using namespace tp::fakes;

static constexpr int64_t warpSize = 32;

void SharedRaces::begin(int64_t threads, int64_t bytes) {
  memory.assign(bytes, Byte());
  warps.assign((threads + warpSize - 1) / warpSize, 0);
  now = 0;
}

SharedRaces::Mark SharedRaces::mark(int64_t thread) const {
  return {int32_t(thread), now, warps[thread / warpSize]};
}

bool SharedRaces::collides(const Mark &mark, int64_t thread) const {
  if (mark.thread < 0 || mark.thread == thread || mark.block != now)
    return false;
  int64_t warp = thread / warpSize;
  return mark.thread / warpSize != warp || mark.warp == warps[warp];
}

std::string SharedRaces::access(int64_t thread, int64_t offset, int64_t bytes,
                                bool isWrite) {
  auto text = [&](int64_t at, const char *does, const Mark &other,
                  const char *did) {
    return "thread " + std::to_string(thread) + " " + does + " byte " +
           std::to_string(at) + " of shared memory, which thread " +
           std::to_string(other.thread) + " " + did +
           " with no barrier between";
  };
  for (int64_t at = offset; at < offset + bytes && at < int64_t(memory.size());
       ++at) {
    Byte &byte = memory[at];
    if (!isWrite) {
      if (collides(byte.writer, thread))
        return text(at, "reads", byte.writer, "wrote");
      // Two readers are enough: whoever writes differs from one of them.
      Mark &kept = byte.readers[byte.readers[0].thread == thread ? 0 : 1];
      (byte.readers[0].block != now || byte.readers[0].thread < 0
           ? byte.readers[0]
           : kept) = mark(thread);
      continue;
    }
    for (const Mark &reader : byte.readers)
      if (collides(reader, thread))
        return text(at, "writes", reader, "read");
    if (collides(byte.writer, thread) &&
        byte.writer.thread / warpSize != thread / warpSize)
      return text(at, "writes", byte.writer, "wrote");
    byte.writer = mark(thread);
  }
  return "";
}

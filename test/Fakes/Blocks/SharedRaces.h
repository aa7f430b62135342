//===- SharedRaces.h - unordered accesses to shared memory ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps for every byte of a block's shared memory who wrote and who read it
// last. Two accesses of different threads, one of them a write, need a barrier
// of the block or of their common warp between them: without one it is an error
// in whatever order the threads happened to run.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_BLOCKS_SHAREDRACES_H
#define TP_TEST_FAKES_BLOCKS_SHAREDRACES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tp::fakes {

class SharedRaces {
public:
  /// A block of `threads` threads begins, with `bytes` of shared memory.
  void begin(int64_t threads, int64_t bytes);
  void barrier() { ++now; }
  void warpBarrier(int64_t warp) { ++warps[warp]; }
  /// Empty, or what is wrong with an access that `thread` is about to make.
  /// Lanes of a warp may write the same byte in one instruction.
  std::string access(int64_t thread, int64_t offset, int64_t bytes,
                     bool isWrite);

private:
  struct Mark {
    int32_t thread = -1;
    uint32_t block = 0, warp = 0;
  };
  struct Byte {
    Mark writer, readers[2];
  };
  bool collides(const Mark &mark, int64_t thread) const;
  Mark mark(int64_t thread) const;

  std::vector<Byte> memory;
  /// Barriers so far: of the block, and of every warp.
  uint32_t now = 0;
  std::vector<uint32_t> warps;
};

} // namespace tp::fakes

#endif // TP_TEST_FAKES_BLOCKS_SHAREDRACES_H

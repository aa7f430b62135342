//===- AccessMeter.h - how well a warp's accesses coalesce ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts for kernels that tell of their accesses (tp-cuda-compile=accesses) the
// sectors of 32 bytes that every load and store of a warp touches, and how many
// hold its bytes at least.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_BLOCKS_ACCESSMETER_H
#define TP_TEST_FAKES_BLOCKS_ACCESSMETER_H

#include <cstdint>
#include <map>
#include <vector>

namespace tp::fakes {

/// Of the loads or the stores of a kernel.
struct AccessCount {
  /// Loads or stores of a warp, the different bytes they touch, and sectors.
  int64_t requests = 0, bytes = 0, sectors = 0, leastSectors = 0;
};

class AccessMeter {
public:
  /// `thread`, by the instruction at `site`, accesses `bytes` at `address`.
  void access(const void *site, int64_t thread, uintptr_t address,
              int64_t bytes, bool isWrite);
  /// The block has ended: what its warps did is counted.
  void end();

  AccessCount loads, stores;

private:
  struct Site {
    bool isWrite = false;
    /// How often every thread has come by.
    std::map<int64_t, int64_t> turns;
    /// By turn and warp: address and size of every lane's access.
    std::map<std::pair<int64_t, int64_t>,
             std::vector<std::pair<uintptr_t, int64_t>>>
        requests;
  };
  std::map<const void *, Site> sites;
};

} // namespace tp::fakes

#endif // TP_TEST_FAKES_BLOCKS_ACCESSMETER_H

//===- AccessMeter.cpp - how well a warp's accesses coalesce --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AccessMeter.h"
#include <algorithm>

using namespace tp::fakes;

static constexpr int64_t warpSize = 32, sectorBytes = 32;

void AccessMeter::access(const void *site, int64_t thread, uintptr_t address,
                         int64_t bytes, bool isWrite) {
  Site &entry = sites[site];
  entry.isWrite = isWrite;
  int64_t turn = entry.turns[thread]++;
  entry.requests[{turn, thread / warpSize}].push_back({address, bytes});
}

void AccessMeter::end() {
  for (auto &[where, site] : sites) {
    AccessCount &count = site.isWrite ? stores : loads;
    for (auto &[which, lanes] : site.requests) {
      std::sort(lanes.begin(), lanes.end());
      int64_t bytes = 0, sectors = 0;
      uintptr_t end = 0, nextSector = 0;
      for (auto [address, size] : lanes) {
        uintptr_t stop = address + size;
        bytes += std::max<int64_t>(0, int64_t(stop) -
                                          int64_t(std::max(address, end)));
        end = std::max(end, stop);
        uintptr_t first = std::max(address / sectorBytes, nextSector);
        uintptr_t last = (stop - 1) / sectorBytes + 1;
        if (last > first)
          sectors += last - first;
        nextSector = std::max(nextSector, last);
      }
      ++count.requests;
      count.bytes += bytes;
      count.sectors += sectors;
      count.leastSectors += (bytes + sectorBytes - 1) / sectorBytes;
    }
  }
  sites.clear();
}

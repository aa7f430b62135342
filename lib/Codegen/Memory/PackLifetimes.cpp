//===- PackLifetimes.cpp - blocks that share memory -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Memory of a block, from `offset` to `end`, while it is alive.
struct Taken {
  int64_t offset, end;
  int64_t first, last;
};
} // namespace

static int64_t place(MutableArrayRef<Lifetime> blocks, ArrayRef<unsigned> order,
                     int64_t alignment) {
  int64_t total = 0;
  // By offset.
  std::vector<Taken> placed;
  placed.reserve(blocks.size());
  for (unsigned index : order) {
    Lifetime &block = blocks[index];
    // The smallest gap between blocks alive at the same time that holds it.
    int64_t bestOffset = -1, bestGap = 0, end = 0;
    for (const Taken &taken : placed) {
      if (taken.first > block.last || block.first > taken.last)
        continue;
      int64_t gap = taken.offset - end;
      if (gap >= block.bytes && (bestOffset < 0 || gap < bestGap)) {
        bestOffset = end;
        bestGap = gap;
      }
      end = std::max(end, taken.end);
    }
    block.offset = bestOffset < 0 ? end : bestOffset;
    Taken taken{block.offset,
                block.offset + int64_t(llvm::alignTo(block.bytes, alignment)),
                block.first, block.last};
    total = std::max(total, taken.end);
    placed.insert(llvm::upper_bound(placed, taken,
                                    [](const Taken &a, const Taken &b) {
                                      return a.offset < b.offset;
                                    }),
                  taken);
  }
  return total;
}

int64_t tp::target::packLifetimes(MutableArrayRef<Lifetime> blocks,
                                  int64_t alignment) {
  using Less = bool (*)(const Lifetime &, const Lifetime &);
  const Less orders[] = {
      [](const Lifetime &a, const Lifetime &b) { return a.bytes > b.bytes; },
      [](const Lifetime &a, const Lifetime &b) {
        return a.bytes * (a.last - a.first + 1) >
               b.bytes * (b.last - b.first + 1);
      },
      [](const Lifetime &a, const Lifetime &b) {
        return a.last - a.first > b.last - b.first;
      },
      [](const Lifetime &a, const Lifetime &b) { return a.first < b.first; },
  };
  int64_t best = -1;
  SmallVector<int64_t> offsets;
  for (Less less : orders) {
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, blocks.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return less(blocks[a], blocks[b]);
    });
    int64_t total = place(blocks, order, alignment);
    if (best >= 0 && total >= best)
      continue;
    best = total;
    offsets.clear();
    for (const Lifetime &block : blocks)
      offsets.push_back(block.offset);
  }
  for (auto [block, offset] : llvm::zip_equal(blocks, offsets))
    block.offset = offset;
  return std::max<int64_t>(best, 0);
}

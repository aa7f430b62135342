//===- PackLifetimesTest.cpp - blocks that share memory -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/MemoryPlan.h"
#include "gtest/gtest.h"
#include <random>

using namespace tp::target;

namespace {
constexpr int64_t alignment = 64;

bool liveTogether(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// What is taken of memory: the bytes, up to the next multiple.
int64_t endOf(const Lifetime &block) {
  return block.offset + (block.bytes + alignment - 1) / alignment * alignment;
}

TEST(PackLifetimesTest, BlocksThatLiveTogetherDoNotOverlap) {
  std::mt19937 random(3);
  for (int time = 0; time < 300; ++time) {
    std::vector<Lifetime> blocks(1 + random() % 60);
    for (Lifetime &block : blocks) {
      block.bytes = 1 + random() % 1000;
      block.first = random() % 40;
      block.last = block.first + random() % (1 + random() % 40);
    }
    int64_t total = packLifetimes(blocks, alignment);
    int64_t end = 0;
    for (const Lifetime &a : blocks) {
      EXPECT_EQ(a.offset % alignment, 0);
      EXPECT_GE(a.offset, 0);
      end = std::max(end, endOf(a));
      for (const Lifetime &b : blocks)
        EXPECT_TRUE(&a == &b || !liveTogether(a, b) || endOf(a) <= b.offset ||
                    endOf(b) <= a.offset);
    }
    EXPECT_EQ(total, end);
  }
}

TEST(PackLifetimesTest, ABlockTakesTheSmallestGapThatHoldsIt) {
  // The last one is shorter than the others live, and two gaps hold it.
  std::vector<Lifetime> blocks = {
      {256, 0, 9}, {128, 0, 4}, {256, 0, 9},
      {64, 0, 4},  {256, 0, 9}, {64, 5, 6},
  };
  EXPECT_EQ(packLifetimes(blocks, alignment), 256 * 3 + 128 + 64);
}

TEST(PackLifetimesTest, NoBlocksTakeNothing) {
  EXPECT_EQ(packLifetimes({}, alignment), 0);
}
} // namespace

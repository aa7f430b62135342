//===- BlockRunnerTest.cpp ------------------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks/BlockRunner.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tp::fakes;

extern "C" {
int32_t tp_block_read_ptx_sreg_tid_x();
int32_t tp_block_read_ptx_sreg_ctaid_x();
void tp_block_barrier_cta_sync_aligned_all(int32_t);
void tp_block_bar_warp_sync(uint32_t mask);
uint32_t tp_block_shfl_sync_bfly_i32(uint32_t mask, uint32_t value,
                                     uint32_t distance, uint32_t control);
void tp_block_shared_access(const void *address, uint32_t bytes,
                            uint32_t isWrite);
void tp_block_global_access(const void *address, uint32_t bytes,
                            uint32_t isWrite);
extern unsigned char tp_shared[];
}

static int32_t tid() { return tp_block_read_ptx_sreg_tid_x(); }
static int32_t *output(void *const *params) {
  return *static_cast<int32_t *const *>(params[0]);
}

static std::string run(HostKernel kernel, int32_t *out, int64_t grid,
                       int64_t block, int64_t shared = 0) {
  void *params[] = {&out};
  return runKernel(kernel, params, {grid, 1, 1}, {block, 1, 1}, shared);
}

TEST(BlockRunner, EveryThreadOfEveryBlockRuns) {
  int32_t out[3 * 40] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  output(
                      params)[tp_block_read_ptx_sreg_ctaid_x() * 40 + tid()]++;
                },
                out, 3, 40),
            "");
  for (int32_t count : out)
    EXPECT_EQ(count, 1);
}

TEST(BlockRunner, BarrierShowsWhatOthersWrote) {
  int32_t out[128] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  auto *shared = reinterpret_cast<int32_t *>(tp_shared);
                  shared[tid()] = tid();
                  tp_block_barrier_cta_sync_aligned_all(0);
                  output(params)[tid()] = shared[127 - tid()];
                },
                out, 1, 128, 512),
            "");
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], 127 - i);
}

TEST(BlockRunner, SharedMemoryBeginsAsNaN) {
  int32_t out[2] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  float first;
                  std::memcpy(&first, tp_shared, sizeof(first));
                  output(params)[tp_block_read_ptx_sreg_ctaid_x()] =
                      std::isnan(first);
                  std::memset(tp_shared, 0, 4);
                },
                out, 2, 1, 4),
            "");
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
}

TEST(BlockRunner, ExchangesAmongAllLanes) {
  int32_t out[64] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  uint32_t sum = tid();
                  for (uint32_t distance = 16; distance; distance /= 2)
                    sum += tp_block_shfl_sync_bfly_i32(~0u, sum, distance, 31);
                  output(params)[tid()] = sum;
                },
                out, 1, 64),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i < 32 ? 496 : 496 + 32 * 32);
}

TEST(BlockRunner, ExchangesAmongTheLanesOfAMask) {
  int32_t out[32] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  // The upper half has ended when the lower one exchanges.
                  if (tid() < 16)
                    output(params)[tid()] =
                        tp_block_shfl_sync_bfly_i32(0xffff, tid(), 1, 31);
                },
                out, 1, 32),
            "");
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], i ^ 1);
}

TEST(BlockRunner, BarrierThatAThreadDoesNotReach) {
  int32_t out[64] = {};
  EXPECT_EQ(run(
                [](void *const *) {
                  if (tid() != 5)
                    tp_block_barrier_cta_sync_aligned_all(0);
                },
                out, 1, 64),
            "block (0, 0, 0): thread 0 waits at a barrier of the block that "
            "thread 5 does not reach: it has ended");
}

TEST(BlockRunner, TwoBarriersAreNotOne) {
  int32_t out[64] = {};
  EXPECT_NE(run(
                [](void *const *params) {
                  if (tid() < 32) {
                    output(params)[0] = 1;
                    [[clang::nomerge]] tp_block_barrier_cta_sync_aligned_all(0);
                    output(params)[2] = 1;
                  } else {
                    output(params)[1] = 1;
                    [[clang::nomerge]] tp_block_barrier_cta_sync_aligned_all(0);
                    output(params)[3] = 1;
                  }
                },
                out, 1, 64),
            "");
}

TEST(BlockRunner, ExchangeThatALaneOfTheMaskDoesNotReach) {
  int32_t out[32] = {};
  EXPECT_EQ(run(
                [](void *const *) {
                  if (tid() < 31)
                    tp_block_shfl_sync_bfly_i32(~0u, 0, 1, 31);
                },
                out, 1, 32),
            "block (0, 0, 0): thread 0 waits at an exchange with its warp that "
            "thread 31 does not reach: it has ended");
}

TEST(BlockRunner, PartialWarpCannotFillAWholeMask) {
  int32_t out[8] = {};
  EXPECT_NE(run([](void *const *) { tp_block_bar_warp_sync(~0u); }, out, 1, 8),
            "");
}

TEST(BlockRunner, WritesBehindSharedMemory) {
  int32_t out[1] = {};
  EXPECT_EQ(run([](void *const *) { tp_shared[16] = 1; }, out, 1, 1, 16),
            "block (0, 0, 0): writes byte 16 of shared memory, which has 16");
}

TEST(BlockRunner, LaunchesThatNoDeviceTakes) {
  int32_t out[1] = {};
  auto nothing = [](void *const *) {};
  EXPECT_NE(run(nothing, out, 0, 32), "");
  EXPECT_NE(run(nothing, out, 1, 2048), "");
  EXPECT_NE(run(nothing, out, 1, 32, 228 * 1024), "");
}

static int32_t &word(int32_t number) {
  return reinterpret_cast<int32_t *>(tp_shared)[number];
}

static void writeWord(int32_t number, int32_t value) {
  tp_block_shared_access(&word(number), 4, 1);
  word(number) = value;
}

static int32_t readWord(int32_t number) {
  tp_block_shared_access(&word(number), 4, 0);
  return word(number);
}

TEST(BlockRunner, WhatAnotherThreadWroteNeedsABarrier) {
  EXPECT_EQ(run(
                [](void *const *) {
                  writeWord(tid(), tid());
                  if (tid() == 70)
                    readWord(3);
                },
                nullptr, 1, 96, 512),
            "block (0, 0, 0): thread 70 reads byte 12 of shared memory, which "
            "thread 3 wrote with no barrier between");
}

TEST(BlockRunner, AMissingBarrierShowsWhicheverThreadRanFirst) {
  EXPECT_EQ(
      run(
          [](void *const *) {
            if (tid() == 0)
              readWord(70);
            writeWord(tid(), tid());
          },
          nullptr, 1, 96, 512),
      "block (0, 0, 0): thread 70 writes byte 280 of shared memory, which "
      "thread 0 read with no barrier between");
}

TEST(BlockRunner, AWarpsBarrierOrdersThatWarpAlone) {
  int32_t out[64] = {};
  EXPECT_EQ(run(
                [](void *const *params) {
                  writeWord(tid(), tid());
                  tp_block_bar_warp_sync(~0u);
                  output(params)[tid()] = readWord(tid() ^ 1);
                },
                out, 1, 64, 512),
            "");
  EXPECT_EQ(out[41], 40);
  EXPECT_EQ(run(
                [](void *const *) {
                  writeWord(tid(), tid());
                  tp_block_bar_warp_sync(~0u);
                  if (tid() >= 32)
                    readWord(tid() - 32);
                },
                nullptr, 1, 64, 512),
            "block (0, 0, 0): thread 32 reads byte 0 of shared memory, which "
            "thread 0 wrote with no barrier between");
}

TEST(BlockRunner, SectorsOfAWarpAreCounted) {
  alignas(32) static char memory[4096];
  static int64_t stride;
  auto measure = [](int64_t bytes) {
    stride = bytes;
    AccessMeter meter;
    EXPECT_EQ(runBlocks(
                  [](void *const *) {
                    tp_block_global_access(memory + tid() * stride, 4, 0);
                  },
                  nullptr, {1, 1, 1}, {32, 1, 1}, 0, {0}, &meter),
              "");
    EXPECT_EQ(meter.loads.requests, 1);
    EXPECT_EQ(meter.loads.leastSectors, stride ? 4 : 1);
    EXPECT_EQ(meter.stores.requests, 0);
    return meter.loads.sectors;
  };
  EXPECT_EQ(measure(4), 4);
  EXPECT_EQ(measure(8), 8);
  EXPECT_EQ(measure(64), 32);
  EXPECT_EQ(measure(0), 1);
}

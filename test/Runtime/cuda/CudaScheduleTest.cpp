//===- CudaScheduleTest.cpp - which queue waits for what ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Slices.h"
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

std::vector<int64_t> waits(const QueueSchedule &schedule) {
  std::vector<int64_t> all;
  for (const QueuedCommand &command : schedule.commands)
    all.push_back(command.waitFor);
  return all;
}

TEST(CudaScheduleTest, WaitsForWhatTouchesTheSameBytesAlone) {
  auto artifact = everythingOnDevice(2).open();
  ASSERT_TRUE(artifact);
  QueueSchedule schedule = planQueues(artifact->entry());
  // 0 scale x->a, 1 all_reduce a->b, 2 scale a->c beside it, 3 scale c->a and
  // 4 scale b->d behind it (once is enough), 5 gemm d, a -> e, 6 all_gather
  // e->r0 behind the gemm, 7 reduce_scatter and 8 all_to_all in order, 9
  // permute e->r3, 10 scale r3->r4 behind that.
  EXPECT_EQ(waits(schedule),
            (std::vector<int64_t>{-1, 0, -1, 1, -1, -1, 5, -1, -1, -1, 9}));
  EXPECT_EQ(schedule.endWaitsFor, -1);
  EXPECT_TRUE(schedule.commands[0].awaited);
  EXPECT_FALSE(schedule.commands[2].awaited);
  EXPECT_EQ(schedule.commands[9].queue, Queue::Communication);
  EXPECT_TRUE(schedule.communicates);
}

TEST(CudaScheduleTest, UnknownSizesReachToTheEnd) {
  auto artifact = everythingOnDevice(2, /*known=*/false).open();
  ASSERT_TRUE(artifact);
  QueueSchedule schedule = planQueues(artifact->entry());
  EXPECT_EQ(schedule.commands[2].waitFor, 1)
      << "it may write what the collective reads";
}

TEST(CudaScheduleTest, TheEndWaitsForTheLastCollective) {
  CudaProgram program({{"tp", 2}});
  program.addArgument("a", "f32", 64);
  program.addResult("r", "f32", 64);
  int64_t group = program.addGroup({{0, 1}});
  program.addCollective("all_reduce", "f32", "sum", group, 2, argumentBuffer(0),
                        resultBuffer(0), 1, 64);
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  QueueSchedule schedule = planQueues(artifact->entry());
  EXPECT_EQ(schedule.endWaitsFor, 0);
  EXPECT_TRUE(schedule.commands[0].awaited);
}

/// Slices put together are what scatter writes in one piece.
TEST(CudaScheduleTest, SlicesAreTheWhole) {
  RankSlice held;
  held.shape = {6, 10, 4};
  held.localShape = {4, 5, 4};
  held.permutation = {2, 0, 1};
  held.dtype = DataType::I32;
  held.boxes = {{{2, 5, 0}, {0, 0, 0}, {2, 5, 3}},
                {{5, 0, 0}, {3, 0, 1}, {1, 4, 3}}};
  std::vector<int32_t> global(240);
  for (size_t i = 0; i < global.size(); ++i)
    global[i] = int32_t(i + 1);
  std::vector<int64_t> strides = rowMajorStrides(held.shape);
  std::vector<int32_t> whole(80);
  scatter(held, global.data(), strides, whole.data());
  for (int64_t most : {4, 12, 20, 84, 1000}) {
    std::vector<int32_t> pieces(80, -1);
    int64_t next = 0;
    ASSERT_OK(forEachSlice(held, most, [&](const RankSlice &slice, int64_t at) {
      EXPECT_EQ(at, next) << "in the order of memory";
      EXPECT_LE(slice.localBytes(), std::max<int64_t>(most, 4));
      next = at + slice.localBytes();
      std::memset(pieces.data() + at / 4, 0, slice.localBytes());
      scatter(slice, global.data(), strides, pieces.data() + at / 4);
      return Status();
    }));
    EXPECT_EQ(next, 320);
    EXPECT_EQ(pieces, whole) << most;
  }
}

} // namespace

//===- CollectiveOrderTest.cpp - buffers, groups and order of collectives -===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// all_reduce may work in place, with three ranks and both sizes of message.
TEST(CollectiveInPlaceTest, AllReduce) {
  for (int64_t count : {7, 9001}) {
    TestProgram program({{"tp", 3}});
    int64_t group = program.addGroup({{0, 1, 2}});
    int64_t port = program.addArgument("a", "i64", count);
    program.addResult("r", "i64", count);
    program.addNext("a", "i64", count);
    program.addCollective("all_reduce", "i64", "sum", group, 3,
                          argumentBuffer(port), argumentBuffer(port), 1, count);
    program.addCollective("all_reduce", "i64", "max", group, 3,
                          argumentBuffer(port), resultBuffer(0), 1, count);
    auto artifact = program.open();
    ASSERT_TRUE(artifact);
    TestRun run = runRanks(*artifact, Mode::Threads, [&](Rank &rank) {
      auto *data = reinterpret_cast<int64_t *>(rank.argument(0));
      for (int64_t i = 0; i < count; ++i)
        data[i] = i * 10 + rank.rank();
    });
    for (int64_t r = 0; r < 3; ++r) {
      ASSERT_OK(run.statuses[r]);
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(run.result<int64_t>(r, 0)[i], i * 30 + 3) << r << " " << i;
    }
  }
}

/// The command after a collective may write its input and output at once: no
/// rank may still be reading them. Large enough for a rank to be stopped in the
/// middle of its reading; a mixture of two rounds is not uniform.
TEST(CollectiveOrderTest, BuffersAreFreeAfterwards) {
  constexpr int64_t count = 1 << 19, rounds = 20, ranks = 4;
  TestProgram program({{"tp", ranks}});
  int64_t group = program.addGroup({{0, 1, 2, 3}});
  program.addArgument("a", "i32", count);
  program.addArgument("b", "i32", count);
  program.addResult("gathered", "i32", ranks * count);
  program.addNext("a", "i32", count);
  program.addNext("b", "i32", count);
  for (int64_t round = 0; round < rounds; ++round) {
    program.addCollective("all_gather", "i32", "", group, ranks,
                          argumentBuffer(0), resultBuffer(0), 1, count);
    program.addKernel("add_one", {argumentBuffer(0)});
    for (int64_t p = 0; p < ranks; ++p)
      program.addKernel("check_uniform", {resultBuffer(0, p * count * 4)});
    program.addCollective("all_reduce", "i32", "max", group, ranks,
                          argumentBuffer(1), argumentBuffer(1), 1, count);
    program.addKernel("add_one", {argumentBuffer(1)});
    program.addKernel("check_uniform", {argumentBuffer(1)});
  }
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  TestRun run = runRanks(*artifact, Mode::Threads, {}, {}, 2);
  for (int64_t r = 0; r < ranks; ++r) {
    ASSERT_OK(run.statuses[r]);
    EXPECT_EQ(run.result<int32_t>(r, 0)[0], 2 * rounds - 1);
  }
}

/// Groups of one axis of a 2 x 3 mesh, and of the other, side by side.
TEST(CollectiveGroupTest, AxesOfAMesh) {
  TestProgram program({{"dp", 2}, {"tp", 3}});
  int64_t alongTp = program.addGroup({{0, 1, 2}, {3, 4, 5}});
  int64_t alongDp = program.addGroup({{0, 3}, {1, 4}, {2, 5}});
  int64_t in = program.addArgument("a", "i32", 1);
  int64_t sums = program.addResult("sums", "i32", 2);
  int64_t all = program.addResult("all", "i32", 3);
  program.addCollective("all_reduce", "i32", "sum", alongTp, 3,
                        argumentBuffer(in), resultBuffer(sums), 1, 1);
  program.addCollective("all_reduce", "i32", "sum", alongDp, 2,
                        argumentBuffer(in), resultBuffer(sums, 4), 1, 1);
  program.addCollective("all_gather", "i32", "", alongTp, 3, argumentBuffer(in),
                        resultBuffer(all), 1, 1);
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  TestRun run = runRanks(*artifact, Mode::Threads, [](Rank &rank) {
    *reinterpret_cast<int32_t *>(rank.argument(0)) = 1 << rank.rank();
  });
  for (int32_t r = 0; r < 6; ++r) {
    ASSERT_OK(run.statuses[r]);
    int32_t row = r / 3, column = r % 3;
    EXPECT_EQ(run.result<int32_t>(r, 0)[0], 7 << (3 * row));
    EXPECT_EQ(run.result<int32_t>(r, 0)[1], 9 << column);
    for (int32_t p = 0; p < 3; ++p)
      EXPECT_EQ(run.result<int32_t>(r, 1)[p], 1 << (3 * row + p));
  }
}

/// The order of a reduction is the group's, so the bits are the same from run
/// to run, rank to rank and transport to transport.
TEST(CollectiveBitsTest, AreTheSameEverywhere) {
  constexpr int64_t count = 5003;
  TestProgram program({{"tp", 4}});
  program.manifest["mesh"]["device_order"] = {2, 0, 3, 1};
  int64_t group = program.addGroup({{2, 0, 3, 1}});
  program.addArgument("a", "f32", count);
  program.addResult("r", "f32", count);
  program.addCollective("all_reduce", "f32", "sum", group, 4, argumentBuffer(0),
                        resultBuffer(0), 1, count);
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  auto value = [](int64_t rank, int64_t i) {
    return std::sin(float(rank * 1000 + i)) * float(1 << (i % 20));
  };
  std::vector<float> wanted(count);
  for (int64_t i = 0; i < count; ++i)
    wanted[i] = ((value(2, i) + value(0, i)) + value(3, i)) + value(1, i);
  for (Mode mode : {Mode::Threads, Mode::Processes})
    for (int round = 0; round < 3; ++round) {
      TestRun run = runRanks(*artifact, mode, [&](Rank &rank) {
        auto *data = reinterpret_cast<float *>(rank.argument(0));
        for (int64_t i = 0; i < count; ++i)
          data[i] = value(rank.rank(), i);
      });
      for (int64_t r = 0; r < 4; ++r) {
        ASSERT_OK(run.statuses[r]);
        EXPECT_EQ(std::memcmp(run.result<float>(r, 0), wanted.data(),
                              count * sizeof(float)),
                  0)
            << nameOf(mode) << " rank " << r;
      }
    }
}

} // namespace

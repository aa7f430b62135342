//===- StateTest.cpp - arguments that steps update ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tp/Runtime/CreateRank.h"
#include <algorithm>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// 's' is updated in place, 'c' by a copy; a step fails where 'a' is not 0.
TestProgram programWithStates() {
  TestProgram program({{"tp", 1}});
  program.manifest["asserts"] = {{{"id", 7}, {"message", "too large"}}};
  program.setConstants({10, 10, 10, 10});
  program.addArgument("a", "f32", 1);
  for (const char *state : {"s", "c"})
    program.addArgument(state, "f32", 4);
  program.addNext("s", "f32", 4);
  program.addNext("c", "f32", 4, /*inPlace=*/false);
  program.addKernel("add_constant",
                    {argumentBuffer(1), constantBuffer(0), argumentBuffer(1)});
  program.addKernel("add_constant",
                    {argumentBuffer(2), constantBuffer(0), resultBuffer(1)});
  program.addKernel("check_zero", {argumentBuffer(0)});
  return program;
}

class StateTest : public testing::Test {
protected:
  void SetUp() override {
    artifact = programWithStates().open();
    ASSERT_TRUE(artifact);
    ASSERT_OK(createThreadTransport(artifact->entry(), transport));
    ASSERT_OK(createRank(*artifact, *transport, 0, {.poison = true}, rank));
    *numbers(0) = 0;
    set(1, 1);
    set(2, 2);
  }
  float *numbers(int64_t argument) {
    return reinterpret_cast<float *>(rank->argument(argument));
  }
  void set(int64_t argument, float value) {
    ASSERT_OK(rank->load(argument, [&](const RankSlice &, char *buffer) {
      std::fill_n(reinterpret_cast<float *>(buffer), 4, value);
    }));
  }

  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Rank> rank;
};

TEST_F(StateTest, StaysFromStepToStep) {
  EXPECT_EQ(rank->result(0), rank->argument(1));
  EXPECT_NE(rank->result(1), rank->argument(2));
  for (int step = 1; step <= 3; ++step) {
    ASSERT_OK(rank->step());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(numbers(1)[i], float(1 + 10 * step));
      EXPECT_EQ(numbers(2)[i], float(2 + 10 * step));
    }
  }
}

TEST_F(StateTest, AFailedStepLeavesItWholeOrLost) {
  *numbers(0) = 1;
  EXPECT_EQ(rank->step().code(), Code::Assert);
  EXPECT_EQ(numbers(2)[0], 2) << "copied only after a step that succeeds";
  EXPECT_OK(rank->checkNotLost(2));
  expectError(rank->checkNotLost(1), "argument 's' is lost");
  *numbers(0) = 0;
  expectError(rank->step(),
              "argument 's' is lost: a step that updates it in place has "
              "failed; set it again before the next step");
  set(1, 5);
  ASSERT_OK(rank->step());
  EXPECT_EQ(numbers(1)[0], 15);
  EXPECT_EQ(numbers(2)[0], 12);
}

/// The check comes before what writes 's', and ranks agree between them.
TEST_F(StateTest, ACheckThatFailsBeforeItIsWrittenLeavesItWhole) {
  TestProgram program = programWithStates();
  json &commands = program.manifest["program"];
  std::rotate(commands.begin(), commands.end() - 1, commands.end());
  program.manifest["agree_at"] = 1;
  rank.reset();
  artifact = program.open();
  ASSERT_TRUE(artifact);
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  ASSERT_OK(createRank(*artifact, *transport, 0, {.poison = true}, rank));
  set(1, 1);
  set(2, 2);
  *numbers(0) = 1;
  EXPECT_EQ(rank->step().code(), Code::Assert);
  EXPECT_EQ(numbers(1)[0], 1);
  EXPECT_EQ(numbers(2)[0], 2);
  EXPECT_OK(rank->checkNotLost(1));
  *numbers(0) = 0;
  ASSERT_OK(rank->step());
  EXPECT_EQ(numbers(1)[0], 11);
  EXPECT_EQ(numbers(2)[0], 12);
}

} // namespace

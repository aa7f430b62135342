//===- RankTest.cpp - steps: kernels, checks, faults, poison --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patience.h"
#include "TestProgram.h"
#include "tp/Runtime/Slices.h"
#include <cmath>
#include <cstring>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

class RankTest : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(All, RankTest,
                         testing::Values(Mode::Threads, Mode::Processes),
                         [](const auto &info) {
                           return std::string(nameOf(info.param));
                         });

TEST_P(RankTest, KernelsKnowWhereTheyRun) {
  TestProgram program({{"dp", 2}, {"tp", 3}});
  // Not its own inverse.
  program.manifest["mesh"]["device_order"] = {1, 2, 3, 4, 5, 0};
  program.manifest["memory"]["scratch_bytes"] = 128;
  program.addResult("r", "i64", 4);
  program.addKernel("where_am_i", {resultBuffer(0)});
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  TestRun run = runRanks(*artifact, GetParam(), {});
  for (int64_t r = 0; r < 6; ++r) {
    ASSERT_OK(run.statuses[r]);
    const auto *result = run.result<int64_t>(r, 0);
    EXPECT_EQ(result[0], r);
    EXPECT_EQ(result[1], (r + 5) % 6 / 3);
    EXPECT_EQ(result[2], (r + 5) % 6 % 3);
    EXPECT_EQ(result[3], 0) << "scratch is 64-byte aligned";
  }
}

TEST_P(RankTest, ConstantsAreReadAndGathered) {
  TestProgram program({{"tp", 2}});
  const float values[4] = {10, 20, 30, 40};
  program.constants = std::string(64, '\0') +
                      std::string(reinterpret_cast<const char *>(values), 16);
  // Large enough to be read from the peers' memory: constants are not in it.
  program.constants += std::string(20000, 'k');
  int64_t group = program.addGroup({{0, 1}});
  program.addArgument("a", "f32", 4);
  program.addResult("r", "f32", 4);
  program.addResult("all", "i8", 40032);
  program.addKernel("add_constant",
                    {argumentBuffer(0), constantBuffer(64), resultBuffer(0)});
  program.addCollective("all_gather", "i8", "", group, 2, constantBuffer(64),
                        resultBuffer(1), 1, 20016);
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  TestRun run = runRanks(*artifact, GetParam(), [](Rank &rank) {
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<float *>(rank.argument(0))[i] = rank.rank() + i;
  });
  for (int64_t r = 0; r < 2; ++r) {
    ASSERT_OK(run.statuses[r]);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(run.result<float>(r, 0)[i], values[i] + float(r + i));
    for (int p = 0; p < 2; ++p)
      EXPECT_EQ(std::memcmp(run.result<char>(r, 1) + p * 20016,
                            program.constants.data() + 64, 20016),
                0);
  }
}

TEST_P(RankTest, ProductsOfARanksOwnRows) {
  TestProgram program({{"tp", 3}});
  program.addArgument("a", "f32", 6);
  program.addArgument("b", "f32", 6);
  program.addResult("c", "f32", 4);
  // 2 x 3 times 3 x 2; rank 1 has no rows, rank 2 two of three.
  program.manifest["program"].push_back(
      {{"command", "gemm"},
       {"dtype", "f32"},
       {"m", 2},
       {"n", 2},
       {"k", {{"axes", nlohmann::json::array({"tp"})}, {"sizes", {3, 0, 2}}}},
       {"a", {{"buffer", argumentBuffer(0)}, {"ld", 3}}},
       {"b", {{"buffer", argumentBuffer(1)}, {"ld", 2}}},
       {"c", {{"buffer", resultBuffer(0)}, {"ld", 2}}}});
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  const int64_t k[3] = {3, 0, 2};
  TestRun run = runRanks(
      *artifact, GetParam(),
      [&](Rank &rank) {
        auto *a = reinterpret_cast<float *>(rank.argument(0));
        auto *b = reinterpret_cast<float *>(rank.argument(1));
        for (int64_t i = 0; i < 6; ++i) {
          a[i] = i % 3 < k[rank.rank()] ? float(i) : NAN;
          b[i] = i / 2 < k[rank.rank()] ? float(10 + i) : NAN;
        }
      },
      [](int64_t) { return RankOptions{.poison = true}; });
  for (int64_t r = 0; r < 3; ++r) {
    ASSERT_OK(run.statuses[r]);
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k[r]; ++l)
          sum += float(i * 3 + l) * float(10 + l * 2 + j);
        EXPECT_EQ(run.result<float>(r, 0)[i * 2 + j], sum) << r;
      }
  }
}

TestProgram checkedProgram() {
  TestProgram program({{"tp", 3}});
  program.manifest["asserts"] = {{{"id", 7},
                                  {"message", "index must be smaller"},
                                  {"module", "tok_embeddings"},
                                  {"location", "embedding"}}};
  program.addArgument("a", "f32", 1);
  program.addResult("r", "f32", 1);
  int64_t group = program.addGroup({{0, 1, 2}});
  program.addKernel("check_zero", {argumentBuffer(0)});
  program.addCollective("all_reduce", "f32", "sum", group, 3, argumentBuffer(0),
                        resultBuffer(0), 1, 1);
  return program;
}

TEST_P(RankTest, AFailedCheckIsTheStatusOfAllRanks) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  for (int64_t failing : {-1, 0, 2}) {
    TestRun run = runRanks(*artifact, GetParam(), [&](Rank &rank) {
      *reinterpret_cast<float *>(rank.argument(0)) = rank.rank() == failing;
    });
    for (const Status &status : run.statuses) {
      if (failing < 0) {
        EXPECT_OK(status);
        continue;
      }
      EXPECT_EQ(status.code(), Code::Assert);
      EXPECT_EQ(status.message(), "index must be smaller, in 'embedding' of "
                                  "module 'tok_embeddings'");
    }
  }
}

/// Calls `body` with every rank's number.
void onThreeThreads(const std::function<void(int64_t)> &body) {
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < 3; ++r)
    threads.emplace_back(body, r);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(RankStepTest, TheNextStepStartsWithoutTheLastOnesStatus) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  TestRun run;
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  std::vector<std::unique_ptr<Rank>> ranks(3);
  for (int64_t r = 0; r < 3; ++r)
    ASSERT_OK(createRank(*artifact, *transport, r, {}, ranks[r]));
  for (float value : {1.0f, 0.0f, 2.0f, 0.0f}) {
    std::vector<Status> statuses(3);
    onThreeThreads([&](int64_t r) {
      *reinterpret_cast<float *>(ranks[r]->argument(0)) = r == 1 ? value : 0;
      statuses[r] = ranks[r]->step();
    });
    for (const Status &status : statuses)
      EXPECT_EQ(status.ok(), value == 0) << status.message();
  }
}

TEST(RankStepTest, MadeAgainARankGoesOn) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  for (int round = 0; round < 3; ++round)
    onThreeThreads([&](int64_t r) {
      std::unique_ptr<Rank> rank;
      EXPECT_OK(createRank(*artifact, *transport, r, {}, rank));
      EXPECT_OK(rank->step());
    });
}

/// Command 0 is the kernel, 1 the collective.
TEST(RankStepTest, ADeadRankEndsTheOthers) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  TestRun run = runRanks(*artifact, Mode::Threads, {}, {}, 1,
                         Fault{Fault::Die, 1, Fault::AtCommand, 1});
  for (const Status &status : run.statuses) {
    EXPECT_EQ(status.code(), Code::RankFailed);
    EXPECT_EQ(status.message(), "rank 1 died in command 1, all_reduce "
                                "'all_reduce_0' of module 'layer.0'");
  }
}

TEST_P(RankTest, AHangIsATimeOutThatNamesOpAndRanks) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  int descriptor = -1;
  if (GetParam() == Mode::Threads)
    ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  else
    ASSERT_OK(createProcessTransport(artifact->entry(), transport, descriptor));
  // Rank 1 never runs; ranks 0 and 2 wait for it.
  std::vector<Status> statuses(3);
  auto step = [&](int64_t r, double timeout) {
    std::unique_ptr<Rank> rank;
    RankOptions options;
    options.timeoutSeconds = timeout;
    EXPECT_OK(createRank(*artifact, *transport, r, options, rank));
    statuses[r] = rank->step();
  };
  std::atomic<pid_t> thread = 0;
  std::thread two([&] {
    thread = gettid();
    step(2, neverSeconds);
  });
  EXPECT_TRUE(
      eventually([&] { return commandOf(transport->progress(2)) == 1; }));
  waitUntilAsleep(thread);
  step(0, 0.3);
  two.join();
  const char *wanted =
      "rank 0 waited 0.3 s in command 1, all_reduce 'all_reduce_0' of module "
      "'layer.0' for 1 of 3 ranks that did not join: rank 1 has not come: "
      "check that every rank of the run was started, and that none ended "
      "before it joined";
  EXPECT_EQ(statuses[0].code(), Code::Timeout);
  EXPECT_EQ(statuses[0].message(), wanted);
  EXPECT_EQ(statuses[2].code(), Code::RankFailed);
  EXPECT_EQ(statuses[2].message(), wanted);
}

TEST(RankStepTest, AbortEndsTheWaitForTheFirstMeeting) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  std::unique_ptr<Rank> rank;
  ASSERT_OK(createRank(*artifact, *transport, 0, {}, rank));
  pid_t waiting = gettid();
  std::thread other([&] {
    waitUntilAsleep(waiting);
    transport->abort({Code::File, 1, "w.safetensors: cannot open"});
    transport->abort({Code::File, 2, "a later failure does not count"});
  });
  expectError(transport->barrier(0, neverSeconds),
              "w.safetensors: cannot open");
  other.join();
  EXPECT_EQ(transport->failure()->rank, 1);
  EXPECT_EQ(transport->failure()->code, Code::File);
}

TEST(RankStepTest, DivergingRanksAreNamed) {
  // Two programs that differ in one collective, over one transport.
  TestProgram one({{"tp", 2}}), two({{"tp", 2}});
  for (TestProgram *program : {&one, &two}) {
    int64_t group = program->addGroup({{0, 1}});
    program->addArgument("a", "f32", 4);
    program->addResult("r", "f32", 8);
    program->addCollective(program == &one ? "all_reduce" : "all_gather", "f32",
                           "sum", group, 2, argumentBuffer(0), resultBuffer(0),
                           1, 4);
  }
  auto first = one.open(), second = two.open();
  ASSERT_TRUE(first && second);
  std::unique_ptr<Transport> transport, attached;
  int descriptor = -1;
  ASSERT_OK(createProcessTransport(first->entry(), transport, descriptor));
  ASSERT_OK(attachProcessTransport(second->entry(), descriptor, attached));
  std::vector<Status> statuses(2);
  std::thread other([&] {
    std::unique_ptr<Rank> rank;
    EXPECT_OK(createRank(*second, *attached, 1, {}, rank));
    statuses[1] = rank->step();
  });
  std::unique_ptr<Rank> rank;
  EXPECT_OK(createRank(*first, *transport, 0, {}, rank));
  statuses[0] = rank->step();
  other.join();
  for (const Status &status : statuses)
    expectError(status, "the ranks diverged");
}

TEST_P(RankTest, PoisonFillsEverythingThatIsNotData) {
  TestProgram program({{"tp", 2}});
  program.manifest["memory"]["arena_bytes"] = 64;
  program.addArgument("a", "f32", 8);
  // Rank 1 holds 5 elements, 3 are padding.
  program.manifest["arguments"][0]["shape"] = {13};
  program.manifest["arguments"][0]["layout"] = {{{"shard", 0}, {"unit", 8}}};
  program.addResult("arena", "i32", 8);
  program.addResult("argument", "i32", 8);
  program.addResult("untouched", "i16", 3);
  program.addKernel("look", {arenaBuffer(0), resultBuffer(0)});
  program.addKernel("look", {argumentBuffer(0), resultBuffer(1)});
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  for (bool poison : {true, false}) {
    TestRun run = runRanks(
        *artifact, GetParam(),
        [](Rank &rank) {
          auto *data = reinterpret_cast<float *>(rank.argument(0));
          for (int i = 0; i < 8; ++i)
            data[i] = 1;
        },
        [&](int64_t) {
          RankOptions options;
          options.poison = poison;
          return options;
        });
    for (int64_t r = 0; r < 2; ++r) {
      ASSERT_OK(run.statuses[r]);
      for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(std::isnan(run.result<float>(r, 0)[i]), poison);
        EXPECT_EQ(std::isnan(run.result<float>(r, 1)[i]),
                  poison && r == 1 && i >= 5)
            << r << " " << i;
      }
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(run.result<int16_t>(r, 2)[i], poison ? INT16_MIN : 0);
    }
  }
}

TEST(RankStepTest, PoisonOfEveryType) {
  for (int i = 0; i < numDataTypes; ++i) {
    DataType type = DataType(i);
    char data[32] = {};
    const uint8_t mask[4] = {0, 1, 0, 1};
    fillWithPoison(type, data, 4, mask);
    for (int e = 0; e < 4; ++e) {
      double value = elementAsDouble(type, data, e);
      if (!mask[e])
        EXPECT_EQ(value, 0);
      else if (isFloat(type))
        EXPECT_TRUE(std::isnan(value));
      else
        EXPECT_EQ(value, type == DataType::I1
                             ? 1
                             : std::ldexp(isUnsigned(type) ? 1 : -1,
                                          byteSize(type) * 8 - 1));
    }
  }
}

TEST(RankStepTest, SkippedCollectivesRunAlone) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  std::unique_ptr<Rank> rank;
  RankOptions options;
  options.skipCollectives = true;
  ASSERT_OK(createRank(*artifact, *transport, 2, options, rank));
  EXPECT_OK(rank->step());
}

TEST(RankStepTest, BadRanks) {
  auto artifact = checkedProgram().open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  std::unique_ptr<Rank> rank;
  expectError(createRank(*artifact, *transport, 3, {}, rank), "rank 3 of 3");
  RankOptions options;
  options.timeoutSeconds = NAN;
  expectError(createRank(*artifact, *transport, 0, options, rank),
              "the time-out must be positive");
}

TEST(ArtifactTest, CodeThatIsMissingOrBroken) {
  std::unique_ptr<Artifact> artifact;
  TestProgram program = checkedProgram();
  program.manifest["program"][0]["function"] = "no_such_kernel";
  expectError(
      Artifact::open(program.write(program.folder->file("a.tp")), artifact),
      "command 0, kernel no_such_kernel");
  program.manifest["program"][0]["function"] = "check_zero";
  program.code.clear();
  expectError(
      Artifact::open(program.write(program.folder->file("a.tp")), artifact),
      "no section 'code'");
  program.code = "not an ELF file";
  expectError(
      Artifact::open(program.write(program.folder->file("a.tp")), artifact),
      "the section 'code' is no ELF file");
  ArtifactWriter writer;
  writer.addSection("code", "x");
  ASSERT_OK(writer.write(program.folder->file("b.tp")));
  expectError(Artifact::open(program.folder->file("b.tp"), artifact),
              "no section 'manifest'");
}

TEST(ArtifactTest, SeveralAtOnceKeepTheirOwnCode) {
  // The same descriptor number twice must not give the first one's code.
  TestProgram program = checkedProgram();
  for (int i = 0; i < 3; ++i) {
    auto one = program.open();
    ASSERT_TRUE(one);
    auto two = program.open();
    ASSERT_TRUE(two);
    EXPECT_NE(one->kernel(one->entry(), 0), two->kernel(two->entry(), 0));
  }
}

} // namespace

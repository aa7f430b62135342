//===- LaunchTest.cpp - ranks that a program other than tp-run launches ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patience.h"
#include "TestProgram.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include "tp/Runtime/Launch/LaunchRanks.h"
#include <atomic>
#include <charconv>
#include <fstream>
#include <thread>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Each step adds 10 to a rank's four elements.
TestProgram counter() {
  TestProgram program({{"tp", 2}});
  program.setConstants({10, 10, 10, 10});
  program.addArgument("a", "f32", 4);
  program.addNext("a", "f32", 4, /*inPlace=*/false);
  program.addKernel("add_constant",
                    {argumentBuffer(0), constantBuffer(0), resultBuffer(0)});
  return program;
}

/// Loads a rank's number.
class Counting : public RankWork {
public:
  Status load(Rank &rank) const override {
    if (rank.rank() == refused)
      return invalidArgument("no array for rank " + std::to_string(refused));
    if (rank.rank() == late)
      std::this_thread::sleep_for(std::chrono::seconds(3));
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<float *>(rank.argument(0))[i] = float(rank.rank());
    return {};
  }
  Status feed(Rank &, int64_t step) const override {
    steps += step;
    return {};
  }
  Status finish(Rank &) const override {
    ++finished;
    return {};
  }

  int64_t refused = -1, late = -1;
  mutable std::atomic<int64_t> steps = 0, finished = 0;
};

LaunchOptions threeSteps() {
  LaunchOptions options;
  options.rank.timeoutSeconds = options.rank.startTimeoutSeconds = patience();
  options.steps = 3;
  return options;
}

float resultOf(const FinishedRun &run, const Artifact &artifact, int64_t rank) {
  RankMemory layout(artifact.entry());
  return *reinterpret_cast<const float *>(run.transport->memory(rank) +
                                          layout.results[0]);
}

TEST(LaunchTest, Threads) {
  auto artifact = counter().open();
  ASSERT_TRUE(artifact);
  LaunchOptions options = threeSteps();
  options.rank.trace = true;
  Counting work;
  FinishedRun run;
  ASSERT_OK(runThreads(options, *artifact, work, run));
  EXPECT_EQ(work.steps, 2 * (1 + 2));
  EXPECT_EQ(work.finished, 2);
  ASSERT_EQ(run.times.size(), 2u);
  for (int64_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(resultOf(run, *artifact, rank), float(30 + rank));
    EXPECT_TRUE(reportOf(*run.transport, rank).finished);
    ASSERT_EQ(run.times[rank].size(), 1u);
    EXPECT_LE(run.times[rank][0].begin, run.times[rank][0].end);
  }
}

TEST(LaunchTest, OneRankAlone) {
  auto artifact = counter().open();
  ASSERT_TRUE(artifact);
  LaunchOptions options = threeSteps();
  options.onlyRank = 1;
  options.rank.skipCollectives = true;
  Counting work;
  FinishedRun run;
  ASSERT_OK(runThreads(options, *artifact, work, run));
  EXPECT_EQ(work.finished, 1);
  EXPECT_EQ(resultOf(run, *artifact, 1), 31);
  EXPECT_FALSE(reportOf(*run.transport, 0).finished);
}

TEST(LaunchTest, AFailureOfOneRankEndsTheRun) {
  auto artifact = counter().open();
  ASSERT_TRUE(artifact);
  Counting work;
  work.refused = 1;
  FinishedRun run;
  expectError(runThreads(threeSteps(), *artifact, work, run),
              "no array for rank 1");
  EXPECT_EQ(work.finished, 0);
}

/// A rank that waits is not yet one that hangs, with which the process would
/// end.
TEST(LaunchTest, ARankThatEndsLateAfterAFailure) {
  auto artifact = counter().open();
  ASSERT_TRUE(artifact);
  Counting work;
  work.refused = 1;
  work.late = 0;
  FinishedRun run;
  expectError(runThreads(threeSteps(), *artifact, work, run),
              "no array for rank 1");
}

constexpr std::string_view artifactWord = "--artifact-of-ranks=";

/// The processes are this program again, in which ProcessOfARank is the test.
TEST(LaunchTest, Processes) {
  // Its folder is there as long as it is.
  TestProgram counting = counter();
  auto artifact = counting.open();
  ASSERT_TRUE(artifact);
  std::string program = "tp-runtime-tests",
              filter = "--gtest_filter=LaunchTest.ProcessOfARank",
              file = std::string(artifactWord) + artifact->path();
  char *words[] = {program.data(), filter.data(), file.data(), nullptr};
  LaunchOptions options = threeSteps();
  FinishedRun run;
  ASSERT_OK(runProcesses(options, *artifact, words, run));
  for (int64_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(resultOf(run, *artifact, rank), float(30 + rank));
}

TEST(LaunchTest, ProcessOfARank) {
  std::ifstream commandLine("/proc/self/cmdline");
  std::string word, path;
  ProcessRank self;
  while (std::getline(commandLine, word, '\0')) {
    if (word.starts_with(artifactWord))
      path = word.substr(artifactWord.size());
    auto take = [&](std::string_view name, auto &value) {
      if (word.starts_with(name))
        std::from_chars(word.data() + name.size(), word.data() + word.size(),
                        value);
    };
    take("--process-rank=", self.rank);
    take("--segment-file=", self.segmentFile);
    if (word.starts_with("--artifact-identity="))
      take("--artifact-identity=", self.artifactIdentity.emplace());
  }
  if (path.empty())
    return;
  std::unique_ptr<Artifact> artifact;
  ASSERT_OK(Artifact::open(path, artifact));
  ASSERT_OK(self.check(*artifact));
  ASSERT_OK(runAsProcess(threeSteps(), *artifact, self, Counting()));
  ++*self.artifactIdentity;
  expectError(self.check(*artifact), "replaced by another artifact");
}

TEST(LaunchTest, MessagesHaveTheNameOfTheProgram) {
  setHostProgram({"counter"});
  testing::internal::CaptureStderr();
  printError("no \x1b[2J");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "counter: error: no \\x1b[2J\n");
  setHostProgram({});
}

} // namespace

//===- CudaAbortTest.cpp - ranks that die after the first step ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the second step on collectives are in a graph, which holds their
// communicators: ncclCommAbort comes back when the graph is gone. Ranks are
// started one by one, so that no parent ends those that hang.
//
//===----------------------------------------------------------------------===//

#include "LaunchedRanks.h"
#include "Patience.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

class CudaAbortTest : public testing::Test {
protected:
  /// Runs four steps on all ranks, of which one has a fault.
  std::vector<CudaOutcome> run(const CudaProgram &program, int64_t ranks,
                               const std::string &fault,
                               const std::string &options) {
    program.write(folder.file("m.tp"));
    LaunchedRanks launched(folder, ranks, [&](int64_t rank) {
      return "RANK=" + std::to_string(rank) +
             " WORLD_SIZE=" + std::to_string(ranks) + " TP_FAKE_FAULT=" + fault;
    });
    return launched.run([&](int64_t) {
      return "m.tp --random-data=3 --repeat=4 " + options + launched.store();
    });
  }
  static void expectError(const CudaOutcome &done, const std::string &part) {
    EXPECT_EQ(done.exitStatus, 1) << done.err;
    EXPECT_TRUE(done.err.starts_with("tp-run: error: ")) << done.err;
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
    EXPECT_EQ(done.err.find('\n'), done.err.size() - 1) << done.err;
  }

  /// With a time-out that some rank reaches; %T in the parts, which are of
  /// messages of the first ranks.
  void expectTimeout(const std::string &fault, const std::string &options,
                     const std::vector<std::string> &parts) {
    for (double seconds : timeouts) {
      auto done = run(everythingOnDevice(2), 2, fault,
                      limits(seconds, neverSeconds) + options);
      bool early = false;
      for (size_t rank = 0; rank < parts.size(); ++rank)
        early |= firedElsewhere(done[rank].err,
                                {withTimeout(parts[rank], seconds)}, seconds);
      if (early)
        continue;
      for (size_t rank = 0; rank < parts.size(); ++rank)
        expectError(done[rank], withTimeout(parts[rank], seconds));
      return;
    }
  }
  static std::string limits(double timeout, double startTimeout) {
    return "--timeout=" + secondsText(timeout) +
           " --start-timeout=" + secondsText(startTimeout) + " ";
  }

  /// A run that would end by a time-out is killed before.
  const std::string patient = limits(neverSeconds, neverSeconds);
  CudaRun folder;
};

TEST_F(CudaAbortTest, ADeadPeerEndsTheOthers) {
  for (int step : {2, 3}) {
    SCOPED_TRACE(step);
    // The second launch of the graph is the third step's.
    auto done =
        run(everythingOnDevice(2), 2,
            "cuGraphLaunch@1:" + std::to_string(step - 1) + ":die", patient);
    expectError(done[0], "rank 1 at 127.0.0.1:");
    EXPECT_NE(done[1].exitStatus, 1) << done[1].err;
  }
}

/// It has run the step's graph and goes before it says so.
TEST_F(CudaAbortTest, ARankThatDiesBetweenStepsEndsTheOthers) {
  for (const char *place : {"end2", "end3"}) {
    auto done = run(everythingOnDevice(2), 2, "none",
                    patient + "--inject-fault=die@1:" + place);
    expectError(done[0], "rank 1 at 127.0.0.1:");
  }
}

/// What the failure cuts off was not joined to the stream of the capture, which
/// is no error of its own.
TEST_F(CudaAbortTest, AFailureInACaptureIsOneError) {
  // Of the ten launches the last five are the graph's.
  for (int launch : {6, 7, 8, 9, 10}) {
    SCOPED_TRACE(launch);
    auto done =
        run(everythingOnDevice(2), 2,
            "cuLaunchKernel@1:" + std::to_string(launch) + ":700", patient);
    expectError(done[1], "cuLaunchKernel");
  }
}

/// The graph ends when all of its communicators have been aborted: none can
/// wait for the abort of another.
TEST_F(CudaAbortTest, AGraphOfSeveralCommunicatorsEnds) {
  CudaProgram program({{"dp", 2}, {"tp", 2}});
  program.addArgument("x", "f32", 64);
  program.manifest["memory"]["arena_bytes"] = 1024;
  program.addResult("r", "f32", 64);
  int64_t columns = program.addGroup({{0, 2}, {1, 3}});
  int64_t rows = program.addGroup({{0, 1}, {2, 3}});
  program.addCollective("all_reduce", "f32", "sum", rows, 2, argumentBuffer(0),
                        arenaBuffer(0), 1, 64);
  program.addCollective("all_reduce", "f32", "sum", columns, 2, arenaBuffer(0),
                        arenaBuffer(256), 1, 64);
  program.addCollective("all_reduce", "f32", "sum", rows, 2, arenaBuffer(256),
                        resultBuffer(0), 1, 64);
  auto done = run(program, 4, "cuGraphLaunch@3:2:die", patient);
  for (int rank : {0, 1, 2})
    expectError(done[rank], "rank 3 at 127.0.0.1:");
}

TEST_F(CudaAbortTest, ATimeOutInAGraphNamesTheOp) {
  const char *part = " waited %T s in command 1, all_reduce 'all_reduce_0'";
  expectTimeout("ncclAllReduce@1:2:hang", "", {part, part});
}

/// Neither a library that never comes back nor a device that never does keeps a
/// rank.
TEST_F(CudaAbortTest, AnAbortThatDoesNotEndIsLeftBehind) {
  expectTimeout("ncclCommAbort@0:1:hang", "--inject-fault=die@1:3 ",
                {"rank 1 at 127.0.0.1:"});
  // Of the ten launches the last five are the graph's.
  const char *part = " waited %T s in command 3, kernel scale";
  expectTimeout("cuLaunchKernel@*:9:hang", "", {part, part});
}

} // namespace

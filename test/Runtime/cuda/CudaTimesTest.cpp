//===- CudaTimesTest.cpp - times of commands on devices -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "Patience.h"
#include <filesystem>

using namespace tp::test;
using namespace tp::runtime;

namespace {

class CudaTimesTest : public testing::Test {
protected:
  void SetUp() override { everythingOnDevice(4).write(folder.file("m.tp")); }
  CudaOutcome time(const std::string &environment = "",
                   const std::string &more = "") {
    return folder.run("m.tp --only-rank=2 --skip-collectives --random-data=1 "
                      "--repeat=3 --time-commands=t.json" +
                          more,
                      "TP_NCCL=/nowhere " + environment);
  }

  CudaRun folder;
};

/// Each kernel and product, and no collective.
TEST_F(CudaTimesTest, EveryCommandHasTimes) {
  CudaOutcome done = time("", " --stats");
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  json times = json::parse(readFile(folder.file("t.json")));
  EXPECT_EQ(times["rounds"], 3);
  EXPECT_EQ(times["device"], "device 2 'fake' (host)");
  EXPECT_GT(times["graph_seconds"].get<double>(), 0);
  EXPECT_GT(times["copy"]["seconds"].get<double>(), 0);
  EXPECT_GT(times["copy"]["bytes"].get<int64_t>(), 0);
  std::vector<std::string> kinds;
  for (const json &command : times["commands"]) {
    kinds.push_back(command["kind"]);
    EXPECT_GT(command["seconds"].get<double>(), 0);
    EXPECT_GE(command["seconds"], command["least_seconds"]);
    EXPECT_GT(command["in_step_seconds"].get<double>(), 0);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"kernel", "kernel", "kernel",
                                             "kernel", "gemm", "kernel"}));
  EXPECT_NE(done.out.find("alone, cold"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("as a graph"), std::string::npos) << done.out;
}

TEST_F(CudaTimesTest, ErrorsNameTheCommand) {
  struct Case {
    const char *fault, *message;
  };
  for (const Case &c : {
           // Ten launches are the first step and the graph, five warm up, then
           // come each command alone, and five in a step.
           Case{"cuLaunchKernel@2:11:1", "command 0, kernel scale"},
           {"cuLaunchKernel@2:12:fail", "command 2, kernel scale"},
           {"cuLaunchKernel@2:17:fail", "command 2, kernel scale"},
           {"cuLaunchKernel@2:22:fail", "command 2, kernel scale"},
           {"cublasLtMatmul@2:4:15",
            "command 5, gemm 'linear' of module 'mlp'"},
           {"cuStreamWaitValue32@2:1:1", "rank 2: cuStreamWaitValue32: "},
           {"cuEventElapsedTime@2:2:1", "rank 2: cuEventElapsedTime: "},
           {"cuMemAlloc@2:2:2", "cannot allocate"},
       }) {
    SCOPED_TRACE(c.fault);
    CudaOutcome done = time(std::string("TP_FAKE_FAULT=") + c.fault);
    EXPECT_EQ(done.exitStatus, 1);
    EXPECT_NE(done.err.find(c.message), std::string::npos) << done.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("t.json")));
  }
}

/// After one step no graph has been launched: the first launch waits for the
/// device, and must not be what a closed gate holds up.
TEST_F(CudaTimesTest, NothingRunsForTheFirstTimeBehindAGate) {
  for (const char *rounds : {"1", "3"}) {
    CudaOutcome done =
        time("TP_CUDNN=" TP_FAKE_CUDNN, std::string(" --repeat=") + rounds);
    EXPECT_EQ(done.exitStatus, 0) << done.err;
    EXPECT_EQ(done.err, "");
  }
}

/// One launch at a time, as compute-sanitizer has them too: what is behind a
/// gate never gets there before the gate opens by itself.
TEST_F(CudaTimesTest, CallsThatWaitForTheDeviceDoNotHang) {
  CudaOutcome done = time("CUDA_LAUNCH_BLOCKING=1 TP_FAKE_ALGORITHMS=0,0");
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  EXPECT_EQ(done.err, "");
  json times = json::parse(readFile(folder.file("t.json")));
  for (const json &command : times["commands"])
    EXPECT_GT(command["seconds"].get<double>(), 0);
}

/// A product in more calls than the driver's queue has room for.
TEST_F(CudaTimesTest, TheQueueOfLaunchesNeverFillsBehindAGate) {
  constexpr int64_t calls = 1100;
  CudaProgram program({{"tp", 1}});
  program.addArgument("a", "f32", 2 * calls + 8);
  program.addResult("c", "f32", 2 * calls * 2);
  auto operand = [](json buffer, json strides) {
    return json{{"buffer", buffer}, {"ld", 1}, {"batch_strides", strides}};
  };
  program.manifest["program"].push_back(
      {{"command", "gemm"},
       {"dtype", "f32"},
       {"m", 1},
       {"n", 1},
       {"k", 1},
       {"batch", {calls, calls + 1}},
       {"a", operand(argumentBuffer(0), {1, 1})},
       {"b", operand(argumentBuffer(0), {1, 0})},
       {"c", operand(resultBuffer(0), {1, 2})},
       {"module", "mlp"},
       {"location", "linear"}});
  program.write(folder.file("m.tp"));
  CudaOutcome done =
      folder.run("m.tp --only-rank=0 --skip-collectives --random-data=1 "
                 "--time-commands=t.json",
                 "TP_FAKE_ALGORITHMS=0,0");
  EXPECT_EQ(done.exitStatus, 0) << done.err;
  EXPECT_EQ(done.err, "");
}

TEST_F(CudaTimesTest, ATimeoutNamesTheCommand) {
  for (double seconds : timeouts) {
    std::string text = secondsText(seconds);
    std::string part = "rank 2 waited " + text + " s in command 3";
    CudaOutcome done = time("TP_FAKE_FAULT=cuStreamWaitValue32@2:3:hang",
                            " --timeout=" + text);
    if (firedElsewhere(done.err, {part}, seconds))
      continue;
    EXPECT_EQ(done.exitStatus, 1);
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("t.json")));
    return;
  }
}

TEST_F(CudaTimesTest, OnlyOfOneRankOnADevice) {
  CudaOutcome done = folder.run("m.tp --random-data=1 --time-commands=t.json");
  EXPECT_EQ(done.exitStatus, 1);
  EXPECT_NE(done.err.find("--time-commands needs --only-rank"),
            std::string::npos)
      << done.err;
  everythingOnHost(4).write(folder.file("m.tp"));
  done = time();
  EXPECT_EQ(done.exitStatus, 1);
  EXPECT_NE(done.err.find("is for target 'cpu', expected 'cuda'"),
            std::string::npos)
      << done.err;
}

} // namespace

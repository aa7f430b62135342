//===- CudaTimingTest.cpp - algorithms chosen by what they take -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedRun.h"
#include "tp/Runtime/Cuda/AlgorithmCache.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// The fake library's algorithms take so many milliseconds, which the third
/// word of each of them says.
std::string keptWord(const CudaRun &folder) {
  std::string kept = readFile(folder.file("cublaslt-algorithms"));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1) << kept;
  std::istringstream words(kept);
  std::string word;
  for (int i = 0; i < 3; ++i)
    words >> word;
  return word;
}

TEST(CudaTimingTest, TheFastestIsKept) {
  struct Case {
    const char *environment, *word, *mark;
  };
  const Case cases[] = {
      {"TP_FAKE_ALGORITHMS=9,1,20", "1", " timed\n"},
      {"TP_FAKE_ALGORITHMS=1,9,20", "1", " timed\n"},
      // No more than eight are tried.
      {"TP_FAKE_ALGORITHMS=9,10,9,10,5,9,9,9,0", "5", " timed\n"},
      {"TP_FAKE_ALGORITHMS=9,1,20 TP_CUDA_TUNE=0", "9", " first\n"},
      {"TP_CUDA_TUNE=0", "0", " first\n"},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.environment);
    CudaRun folder;
    everythingOnDevice(2).write(folder.file("m.tp"));
    CudaOutcome done =
        folder.run("m.tp --random-data=1 --repeat=3", one.environment);
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    EXPECT_EQ(keptWord(folder), one.word);
    std::string kept = readFile(folder.file("cublaslt-algorithms"));
    EXPECT_TRUE(kept.ends_with(one.mark)) << kept;
  }
}

/// Who finds the choice in the file runs a product as often as the program
/// does: in the first step and in the graph.
TEST(CudaTimingTest, WhatIsKeptIsNotTimedAgain) {
  CudaRun folder;
  everythingOnDevice(4).write(folder.file("m.tp"));
  const std::string many = "TP_FAKE_ALGORITHMS=2,1 ";
  const std::string third = many + "TP_FAKE_FAULT=cublasLtMatmul@*:3:13";
  CudaOutcome done = folder.run("m.tp --random-data=1 --repeat=3", third);
  // Of two algorithms the one that refused its third run was left out.
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  done = folder.run("m.tp --random-data=1 --repeat=3", third);
  EXPECT_EQ(done.exitStatus, 0) << done.err;
  done = folder.run("m.tp --random-data=1 --repeat=3",
                    many + "TP_FAKE_FAULT=cublasLtMatmul@*:2:13");
  EXPECT_EQ(done.exitStatus, 1) << "the graph's";
}

/// Timing runs products on memory that programs rely on.
TEST(CudaTimingTest, NothingOfItStays) {
  CudaRun folder;
  CudaProgram program({{"tp", 1}});
  for (const char *name : {"a", "b", "c"})
    program.addArgument(name, "f32", 16);
  program.addResult("sum", "f32", 16);
  program.addResult("untouched", "f32", 16);
  program.addNext("c", "f32", 16);
  program.manifest["memory"]["arena_bytes"] = 256;
  // Each adds to what is there: zeros in results and the arena. Constants are
  // all that is not zero when products are timed.
  std::vector<float> constants = {1, 2, 3, 4, 5, 6, 7, 8};
  constants.resize(32);
  program.setConstants(constants);
  json one = {{"space", "constant"}, {"offset", 0}};
  for (const json &c : {resultBuffer(0), arenaBuffer(0), argumentBuffer(2)}) {
    program.addGemm("f32", 4, 4, 4, one, one, c);
    program.manifest["program"].back()["beta"] = 1.0;
  }
  program.addGemm("f32", 4, 4, 4, arenaBuffer(0), argumentBuffer(2),
                  resultBuffer(0));
  program.manifest["program"].back()["beta"] = 1.0;
  program.write(folder.file("m.tp"));
  std::string outputs[2];
  for (int timed : {0, 1}) {
    CudaOutcome done = folder.run(
        "m.tp --random-data=1 --output=sum=@s.npy --output=untouched=@u.npy",
        timed ? "TP_FAKE_ALGORITHMS=1,0,1" : "TP_CUDA_TUNE=0");
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    outputs[timed] =
        readFile(folder.file("s.npy")) + readFile(folder.file("u.npy"));
  }
  EXPECT_TRUE(outputs[0] == outputs[1]);
}

TEST(CudaTimingTest, FailuresNameTheProduct) {
  struct Case {
    const char *environment, *text;
  };
  const Case cases[] = {
      {"TP_FAKE_FAULT=cublasLtMatmul@0:2:hang",
       "rank 0 waited %T s in command 5, gemm 'linear' of module 'mlp'"},
      {"TP_FAKE_FAULT=cublasLtMatmul@0:2:fail",
       "command 5, gemm 'linear' of module 'mlp': cuStreamQuery: "
       "CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
      {"TP_FAKE_FAULT=cuEventElapsedTime@0:2:400",
       "rank 0, command 5, gemm 'linear' of module 'mlp': cuEventElapsedTime"},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.environment);
    CudaRun folder;
    everythingOnDevice(1).write(folder.file("m.tp"));
    std::string environment = "TP_FAKE_ALGORITHMS=0,0 ";
    environment += one.environment;
    std::string text = one.text;
    CudaOutcome done =
        runInTime(folder, "m.tp --random-data=1", environment, text);
    EXPECT_EQ(done.exitStatus, 1);
    EXPECT_NE(done.err.find(text), std::string::npos) << done.err;
  }
}

TEST(CudaTimingTest, OneProcessChooses) {
  TemporaryFolder folder;
  setenv("TP_CUDA_CACHE", folder.path.c_str(), 1);
  cuda::AlgorithmCache first, second;
  cuda::cublasLtMatmulAlgo_t algorithm = {{1, 2, 3, 4, 5, 6, 7, 8}};
  int asked = 0;
  auto goOn = [&] { return ++asked < 3; };
  EXPECT_TRUE(first.lock(neverSeconds, goOn));
  EXPECT_TRUE(first.lock(neverSeconds, goOn)) << "it is locked already";
  EXPECT_FALSE(second.lock(neverSeconds, goOn)) << "until somebody says stop";
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(second.lock(0.02, [] { return true; })) << "or for so long";
  first.add("a product", algorithm);
  first.save();
  EXPECT_FALSE(second.find("a product", algorithm));
  algorithm = {};
  EXPECT_TRUE(second.lock(neverSeconds, goOn));
  EXPECT_TRUE(second.find("a product", algorithm));
  EXPECT_EQ(algorithm.data[7], 8u);
  unsetenv("TP_CUDA_CACHE");
  setenv("TP_CUDA_CACHE", "/proc/nowhere", 1);
  cuda::AlgorithmCache none;
  EXPECT_FALSE(none.lock(neverSeconds, goOn));
  unsetenv("TP_CUDA_CACHE");
}

} // namespace

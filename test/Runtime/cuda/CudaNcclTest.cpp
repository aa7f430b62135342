//===- CudaNcclTest.cpp - memory that NCCL knows, and groups --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fake NCCL ends a run whose collectives leave their windows, or lie in
// them at other offsets than on other ranks, or whose memory is freed before it
// is deregistered; what it says goes to the standard error.
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "Patience.h"
#include "tp/Runtime/Array.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

constexpr int groupResults = 4;

/// Three collectives on two groups that touch nothing of each other, then one
/// that needs the first.
void addGroups(TestProgram &program) {
  program.addArgument("x", "f32", 64);
  for (int64_t size : {64, 128, 64, 64})
    program.addResult("r" + std::to_string(program.manifest["results"].size()),
                      "f32", size);
  int64_t columns = program.addGroup({{0, 2}, {1, 3}});
  int64_t rows = program.addGroup({{0, 1}, {2, 3}});
  program.addCollective("all_reduce", "f32", "sum", columns, 2,
                        argumentBuffer(0), resultBuffer(0), 1, 64);
  program.addCollective("all_gather", "f32", "", rows, 2, argumentBuffer(0),
                        resultBuffer(1), 1, 64);
  program.addCollective("permute", "f32", "", rows, 2, argumentBuffer(0),
                        resultBuffer(2), 1, 64);
  program.manifest["program"].back()["sources"] = {1, 0};
  program.addCollective("all_reduce", "f32", "max", rows, 2, resultBuffer(0),
                        resultBuffer(3), 1, 64);
}

CudaProgram groupsOnDevice() {
  CudaProgram program({{"dp", 2}, {"tp", 2}});
  addGroups(program);
  for (int command : {1, 2})
    program.manifest["program"][command]["with_previous"] = true;
  return program;
}

const std::string outputs = " --output=r0=@X0.npy --output=r1=@X1.npy "
                            "--output=r2=@X2.npy --output=r3=@X3.npy";
std::string outputsTo(char folder) {
  std::string text = outputs;
  for (char &c : text)
    if (c == 'X')
      c = folder;
  return text;
}

TEST(CudaNcclTest, GroupsEqualTheHost) {
  CudaRun folder;
  TestProgram host({{"dp", 2}, {"tp", 2}});
  addGroups(host);
  host.write(folder.file("host.tp"));
  groupsOnDevice().write(folder.file("device.tp"));
  CudaOutcome done = folder.run("host.tp --random-data=3" + outputsTo('h'));
  ASSERT_EQ(done.exitStatus, 0) << done.err;
  for (const char *order : {"first", "last", "5"}) {
    done = folder.run("device.tp --random-data=3 --repeat=3 --poison "
                      "--trace=t.json" +
                          outputsTo('t'),
                      std::string("TP_FAKE_ORDER=") + order);
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    done = folder.run("device.tp --random-data=3 --repeat=3 --poison" +
                          outputsTo('d'),
                      std::string("TP_FAKE_ORDER=") + order);
    ASSERT_EQ(done.exitStatus, 0) << done.err;
    EXPECT_EQ(done.err, "");
    for (int i = 0; i < groupResults; ++i)
      for (const char *name : {"d", "t"}) {
        std::string number = std::to_string(i) + ".npy";
        EXPECT_TRUE(readFile(folder.file("h" + number)) ==
                    readFile(folder.file(name + number)))
            << name << number;
      }
  }
  // It is one call, and a message says so.
  const std::string part = "command 0, all_reduce 'all_reduce_0' of module "
                           "'layer.0' (and the 2 that start with it)";
  for (double seconds : timeouts) {
    done = folder.run("device.tp --random-data=3 --timeout=" +
                          secondsText(seconds),
                      "TP_FAKE_FAULT=ncclGroupEnd@*:2:hang");
    if (firedElsewhere(done.err, {part}, seconds))
      continue;
    EXPECT_EQ(done.exitStatus, 1);
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
    break;
  }
}

TEST(CudaNcclTest, MemoryFallsBackVisibly) {
  CudaRun folder;
  everythingOnDevice(2).write(folder.file("m.tp"));
  struct Case {
    const char *environment, *memory;
  };
  const Case cases[] = {
      {"", "symmetric windows of NCCL\n"},
      {"TP_FAKE_FAULT=ncclCommWindowRegister@*:1:5",
       "registered with NCCL (no windows: ncclCommWindowRegister: "
       "ncclInvalidUsage (5))\n"},
      {"TP_FAKE_FAULT=ncclCommWindowRegister@*:1:async",
       "registered with NCCL (no windows: ncclCommWindowRegister gave no "
       "window)\n"},
      {"TP_FAKE_FAULT=ncclMemAlloc@1:1:1",
       "registered with NCCL (no windows: rank 1 could not)\n"},
      {"TP_NCCL_MEMORY=registered",
       "registered with NCCL (no windows: TP_NCCL_MEMORY says so)\n"},
      {"TP_NCCL_MEMORY=registered TP_FAKE_FAULT=ncclCommRegister@1:1:5",
       "not registered with NCCL (rank 1 could not)\n"},
      {"TP_NCCL_MEMORY=plain",
       "not registered with NCCL (TP_NCCL_MEMORY says so)\n"},
  };
  std::string results;
  for (const Case &one : cases) {
    SCOPED_TRACE(one.environment);
    CudaOutcome done = folder.run("m.tp --random-data=3 --repeat=3 --stats "
                                  "--output=r0=@r.npy",
                                  one.environment);
    EXPECT_EQ(done.exitStatus, 0) << done.err;
    EXPECT_EQ(done.err, "");
    EXPECT_NE(
        done.out.find(std::string("memory of collectives: ") + one.memory),
        std::string::npos)
        << done.out;
    if (results.empty())
      results = readFile(folder.file("r.npy"));
    EXPECT_TRUE(results == readFile(folder.file("r.npy")));
  }
  CudaOutcome wrong = folder.run("m.tp --random-data=3", "TP_NCCL_MEMORY=no");
  EXPECT_EQ(wrong.exitStatus, 1);
  EXPECT_NE(wrong.err.find("TP_NCCL_MEMORY: expected symmetric, registered or "
                           "plain, got 'no'"),
            std::string::npos)
      << wrong.err;
}

} // namespace

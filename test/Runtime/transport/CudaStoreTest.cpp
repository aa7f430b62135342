//===- CudaStoreTest.cpp - ranks that share no memory ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hosts are processes here: they meet at an address and open nothing of each
// other.
//
//===----------------------------------------------------------------------===//

#include "cuda/LaunchedRanks.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/Launch/Launcher.h"
#include <filesystem>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const std::string data = "m.tp --random-data=3 --repeat=3 ";

/// Of a run with this name, whose ranks are all on this host.
int portOf(const std::string &name) {
  LauncherInfo launched;
  launched.by = "mpirun";
  launched.size = 2;
  launched.localSize = 2;
  launched.run = name;
  return tp::runtime::findStore(launched)->port;
}

class CudaStoreTest : public testing::Test {
protected:
  void SetUp() override { everythingOnDevice(2).write(folder.file("m.tp")); }
  std::string outputs(const std::string &prefix) {
    std::string text;
    for (int i = 0; i < everythingResults; ++i)
      text += " --output=r" + std::to_string(i) + "=@" + prefix +
              std::to_string(i) + ".npy";
    return text;
  }
  CudaRun folder;
};

TEST_F(CudaStoreTest, EqualsTheProcessesOfOneHost) {
  for (int64_t ranks : {1, 2, 4}) {
    everythingOnDevice(ranks).write(folder.file("m.tp"));
    CudaOutcome one = folder.run(data + outputs("h"));
    ASSERT_EQ(one.exitStatus, 0) << one.err;
    // Nobody but rank 0 looks at the results.
    LaunchedRanks launched(folder, ranks);
    auto done = launched.run([&](int64_t rank) {
      return data + launched.store() + (rank == 0 ? outputs("s") : "");
    });
    for (const CudaOutcome &outcome : done)
      ASSERT_EQ(outcome.exitStatus, 0) << outcome.err;
    for (int i = 0; i < everythingResults; ++i) {
      std::string number = std::to_string(i) + ".npy";
      EXPECT_TRUE(readFile(folder.file("h" + number)) ==
                  readFile(folder.file("s" + number)))
          << ranks << " ranks, r" << i;
    }
    for (size_t rank = 1; rank < done.size(); ++rank)
      EXPECT_EQ(done[rank].out, "");
  }
}

/// Results larger than a message, of which one is not asked for.
TEST_F(CudaStoreTest, LargeResultsComeInPieces) {
  constexpr int64_t size = 1500000;
  CudaProgram program({{"tp", 2}});
  program.addArgument("a", "f32", size);
  program.addResult("b", "f32", 64);
  program.addResult("c", "f32", size);
  int64_t group = program.addGroup({{0, 1}});
  program.addCollective("permute", "f32", "", group, 2, argumentBuffer(0),
                        resultBuffer(1), 1, size);
  program.manifest["program"].back()["sources"] = {1, 0};
  program.write(folder.file("m.tp"));
  char *bytes = nullptr;
  Array array = makeArray(DataType::F32, {2 * size}, bytes);
  for (int64_t i = 0; i < 2 * size; ++i)
    reinterpret_cast<float *>(bytes)[i] = float(i);
  ASSERT_OK(writeNpy(folder.file("a.npy"), array));
  std::string arguments = "m.tp --input=@a.npy --output=c=@";
  ASSERT_EQ(folder.run(arguments + "h.npy").exitStatus, 0);
  LaunchedRanks launched(folder, 2);
  auto done = launched.run([&](int64_t rank) {
    return arguments + "s.npy --stats " + launched.store() +
           (rank ? "" : "--expected-output=c=@h.npy");
  });
  for (const CudaOutcome &outcome : done)
    ASSERT_EQ(outcome.exitStatus, 0) << outcome.err;
  EXPECT_TRUE(readFile(folder.file("h.npy")) == readFile(folder.file("s.npy")));
  EXPECT_NE(done[0].out.find("2 processes"), std::string::npos) << done[0].out;
  EXPECT_NE(done[0].out.find("c: equal, f32[3000000]"), std::string::npos);
  EXPECT_NE(done[0].out.find("on 2 ranks"), std::string::npos) << done[0].out;
}

TEST_F(CudaStoreTest, EveryRankTracesItself) {
  LaunchedRanks launched(folder, 2);
  auto done = launched.run(
      [&](int64_t) { return data + "--trace=t.json " + launched.store(); });
  for (size_t rank = 0; rank < done.size(); ++rank) {
    ASSERT_EQ(done[rank].exitStatus, 0) << done[rank].err;
    json trace = json::parse(
        readFile(folder.file("t.rank" + std::to_string(rank) + ".json")));
    for (const json &event : trace["traceEvents"])
      EXPECT_EQ(event["pid"], rank);
    EXPECT_GT(trace["traceEvents"].size(), 11u);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("t.json")));
}

/// What launchers set is enough.
TEST_F(CudaStoreTest, EnvironmentsOfLaunchers) {
  LaunchedRanks ports(folder, 2);
  std::string port = std::to_string(ports.port());
  std::string before = std::to_string(ports.port() - 1);
  auto number = [](int64_t rank) { return std::to_string(rank); };
  // A job for which all ports that are made of its names are free.
  std::vector<std::unique_ptr<ReservedPort>> made;
  std::string job;
  for (int64_t candidate = getpid(); made.size() < 3; ++candidate) {
    made.clear();
    job = number(candidate);
    for (const std::string &name : {job, job + ".1", job + ".2"}) {
      made.push_back(std::make_unique<ReservedPort>(portOf(name)));
      if (made.back()->number == 0) {
        made.clear();
        break;
      }
    }
  }
  const std::function<std::string(int64_t)> environments[] = {
      [&](int64_t rank) {
        return "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
               " WORLD_SIZE=2 RANK=" + number(rank);
      },
      // The port before is the agent's.
      [&](int64_t rank) {
        return "MASTER_ADDR=localhost MASTER_PORT=" + before +
               " WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 "
               "TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RUN_ID=none "
               "RANK=" +
               number(rank);
      },
      [&](int64_t rank) {
        return "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=" + number(rank) +
               " OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 "
               "OMPI_MCA_orte_hnp_uri='1531576320.0;tcp://127.0.0.1,10.0.0.1:"
               "34911' PMIX_NAMESPACE=" +
               job;
      },
      [&](int64_t rank) {
        return "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=" + number(rank) +
               " SLURM_LOCALID=0 SLURM_STEP_NODELIST=127.0.0.[1-2] "
               "SLURM_STEP_ID=1 SLURM_JOB_ID=" +
               job;
      },
      [&](int64_t rank) {
        return "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=" + number(rank) +
               " SLURM_STEP_NUM_NODES=1 SLURM_STEP_ID=2 SLURM_JOB_ID=" + job;
      }};
  for (const auto &environment : environments) {
    LaunchedRanks launched(folder, 2, environment);
    auto done = launched.run([&](int64_t rank) {
      return data + (rank ? "" : "--output=r0=@r.npy --stats");
    });
    for (int64_t rank = 0; rank < 2; ++rank)
      EXPECT_EQ(done[rank].exitStatus, 0) << environment(rank) << "\n"
                                          << done[rank].err;
    EXPECT_NE(done[0].out.find("2 processes"), std::string::npos);
  }
  // A shell of one process is no launcher of ranks.
  EXPECT_EQ(
      folder.run(data, "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0").exitStatus, 0);
  auto error = [&](const std::string &environment,
                   const std::string &options = "") {
    CudaOutcome done = folder.run(data + options, environment);
    EXPECT_EQ(done.exitStatus, 1);
    return done.err;
  };
  EXPECT_NE(error("RANK=0 WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1")
                .find("torchrun started rank 0 of 4"),
            std::string::npos);
  EXPECT_NE(error("PMI_RANK=0 PMI_SIZE=2")
                .find("mpirun has not said where rank 0 can be met: expected "
                      "--store=tcp://HOST:PORT"),
            std::string::npos);
  EXPECT_NE(error("", "--store=tcp://nowhere")
                .find("--store expects a folder or tcp://HOST:PORT, got "
                      "'tcp://nowhere'"),
            std::string::npos);
}

TEST(LauncherTest, HostsInSlurmsNotation) {
  using tp::runtime::firstHost;
  EXPECT_EQ(firstHost("gpu1"), "gpu1");
  EXPECT_EQ(firstHost("gpu7,gpu8"), "gpu7");
  EXPECT_EQ(firstHost("gpu[07-09,12],cpu1"), "gpu07");
  EXPECT_EQ(firstHost("rack[2,4]-gpu[1-8].lan,other"), "rack2-gpu1.lan");
  EXPECT_EQ(firstHost("gpu[12"), "");
  EXPECT_EQ(firstHost(""), "");
}

TEST(LauncherTest, Addresses) {
  auto parsed = [](const char *text) {
    std::optional<StoreAddress> address = StoreAddress::parse(text);
    return address ? address->text() : "none";
  };
  EXPECT_EQ(parsed("tcp://h.lan:80"), "tcp://h.lan:80");
  EXPECT_EQ(parsed("tcp://[fe80::1%eth0]:80"), "tcp://[fe80::1%eth0]:80");
  for (const char *text : {"h:80", "tcp://h", "tcp://:80", "tcp://h:",
                           "tcp://h:0", "tcp://h:65536", "tcp://h:8x",
                           "tcp://fe80::1:80", "tcp://", "tcp://h:-1"})
    EXPECT_EQ(parsed(text), "none") << text;
}

} // namespace

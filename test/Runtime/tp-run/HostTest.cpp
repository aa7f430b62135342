//===- HostTest.cpp - what the host does to a run -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Full disks, limits, closed streams, files that are replaced, several runs at
// once: a run is right, or ends with a message, and leaves nothing. Signals are
// in SignalTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "HostTest.h"
#include "tp/Runtime/Runtime.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

template <int Limit, rlim_t Value> void setLimit() {
  rlimit limit = {Value, Value};
  setrlimit(Limit, &limit);
}

TEST_F(HostTest, FileSizeLimit) {
  ToolRun run(words("threads"));
  run.before = setLimit<RLIMIT_FSIZE, 100>;
  run.run();
  run.expectError({"y.npy: cannot write: File too large"});
  ToolRun ranks(words("processes"));
  ranks.before = setLimit<RLIMIT_FSIZE, 100>;
  ranks.run();
  ranks.expectError({"bytes of shared memory: File too large"});
}

/// On a file system of its own, which is full before tp-run starts.
TEST_F(HostTest, FullDisk) {
  const std::string mount =
      "mkdir disk && unshare -rm sh -c 'mount -t tmpfs -o size=64k t disk && ";
  ToolRun can(shell(mount + "echo yes'"), "/bin/sh");
  can.run();
  if (can.out != "yes\n")
    GTEST_SKIP() << "no mount namespaces here: " << can.err;
  for (const std::string &mode : modes)
    for (std::string old : {"", "old"}) {
      ToolRun run(
          shell("export tp_run artifact; " + mount +
                (old.empty() ? "" : "echo old > disk/y.npy; ") +
                "cat /dev/zero > disk/filler 2> full; rm full;"
                "$tp_run $artifact --random-data=1 --output=@disk/y.npy "
                "--transport=" +
                mode + "; echo $?; ls disk; " +
                (old.empty() ? "'" : "cat disk/y.npy'")),
          "/bin/sh");
      run.run();
      EXPECT_EQ(run.err, "tp-run: error: disk/y.npy: cannot write: No space "
                         "left on device\n");
      EXPECT_EQ(run.out,
                old.empty() ? "1\nfiller\n" : "1\nfiller\ny.npy\nold\n");
    }
}

/// Shared memory has no name: where /dev/shm is full, read-only or missing does
/// not matter, and nothing is left there.
TEST_F(HostTest, NoSharedMemoryFolder) {
  ToolRun run(shell("export tp_run artifact; unshare -rm sh -c 'mount -t tmpfs "
                    "-o ro,size=4k t /dev/shm || echo cannot; "
                    "$tp_run $artifact --random-data=1 --output=@y.npy --quiet "
                    "--transport=processes; echo $?; ls /dev/shm'"),
              "/bin/sh");
  run.run();
  if (run.out.find("0\n") != 0)
    GTEST_SKIP() << "no mount namespaces here: " << run.out << run.err;
  EXPECT_EQ(run.out, "0\n");
  EXPECT_EQ(readFile(run.file("y.npy")), result);
}

TEST_F(HostTest, StandardOutputThatCannotBeWritten) {
  const std::string failed =
      "tp-run: error: cannot write to the standard output\n1\n";
  // A reader that has seen enough is no failure. It opens the gate once it has
  // closed the pipe.
  const std::string early =
      "mkfifo gate; (read < gate; $run --stats) | (exec <&-; echo > gate)";
  for (std::string command : {std::string("$run --stats > /dev/full"),
                              std::string("$run --stats >&-"),
                              std::string("$run --info > /dev/full"), early}) {
    ToolRun run(shell("set -o pipefail; run=\"$tp_run $artifact "
                      "--random-data=1\"; (" +
                      command + ") 2>&1; echo $?"),
                "/bin/bash");
    run.run();
    EXPECT_EQ(run.out, command == early ? "0\n" : failed) << command;
  }
}

/// A file that is opened must not get the number of a closed stream.
TEST_F(HostTest, ClosedStreams) {
  for (const std::string &mode : modes)
    for (int streams : {1, 2, 4, 7}) {
      ToolRun run(words(mode, {"--quiet"}));
      static int closed;
      closed = streams;
      run.before = [] {
        for (int stream = 0; stream < 3; ++stream)
          if (closed >> stream & 1)
            close(stream);
      };
      run.run();
      expectRight(run);
    }
}

/// Any limit gives the result or an error, never a wait or a crash.
TEST_F(HostTest, AddressSpaceLimit) {
  // Below these the dynamic loader has no room for the libraries.
  const int64_t megabytes[] = {100, 110, 120, 130, 140, 160, 180, 200, 220,
                               240, 260, 280, 320, 360, 400, 500, 700, 1200};
  std::atomic<int> good = 0, refused = 0;
  inParallel(std::size(megabytes) * 2, [&](size_t i) {
    std::string limit = std::to_string(megabytes[i / 2] * 1024);
    SCOPED_TRACE(limit + " " + modes[i % 2]);
    ToolRun run(shell("ulimit -v " + limit +
                      "; exec $tp_run $artifact --random-data=1 "
                      "--output=@y.npy --transport=" +
                      modes[i % 2]),
                "/bin/sh");
    run.run();
    if (run.exitStatus() == 0) {
      ++good;
      expectRight(run);
    } else if (run.exitStatus() == 127) {
      EXPECT_NE(run.err.find("error while loading shared libraries"),
                std::string::npos)
          << run.err;
    } else {
      ++refused;
      run.expectError({"out of memory"});
    }
  });
  EXPECT_GT(good, 3);
  EXPECT_GT(refused, 3);
}

/// A process holds its own rank's memory, so that together they may need more
/// than the limit: 2 GiB here. One rank that does not fit is told of.
TEST_F(HostTest, RanksThatNeedMoreThanTheLimitTogether) {
  TestProgram program({{"tp", 8}});
  program.manifest["memory"]["arena_bytes"] = int64_t(256) << 20;
  std::string large = program.write(folder->file("large.tp"));
  auto limited = [&](const std::string &megabytes, const std::string &mode) {
    return std::vector<std::string>{
        "-c", "ulimit -v $((" + megabytes + " * 1024)); exec " TP_RUN " " +
                  large + " --no-poison --transport=" + mode};
  };
  ToolRun run(limited("1200", "processes"), "/bin/sh");
  run.run();
  EXPECT_EQ(run.exitStatus(), 0) << run.err;
  ToolRun threads(limited("1200", "threads"), "/bin/sh");
  threads.run();
  threads.expectError({"out of memory: 8 ranks need ", "or processes, each"});
  ToolRun small(limited("400", "processes"), "/bin/sh");
  small.run();
  small.expectError({"out of memory: 1 rank needs "});
}

/// More than the machine has: nothing is taken before it is used, so that only
/// an absurd size is refused at once.
TEST_F(HostTest, MoreMemoryThanThereIs) {
  TestProgram program({{"tp", 2}});
  program.manifest["memory"]["arena_bytes"] = int64_t(1) << 47;
  program.write(folder->file("huge.tp"));
  for (const std::string &mode : modes) {
    ToolRun run({folder->file("huge.tp"), "--transport=" + mode});
    run.run();
    run.expectError(
        {mode == "threads" ? "cannot allocate 2814749767" : "cannot m"});
  }
}

TEST_F(HostTest, FewOpenFiles) {
  for (const std::string &mode : modes)
    for (int files : {4, 5, 6, 10}) {
      ToolRun run(shell("ulimit -n " + std::to_string(files) +
                        "; exec $tp_run $artifact --random-data=1 "
                        "--output=@y.npy --transport=" +
                        mode),
                  "/bin/sh");
      run.run();
      if (run.exitStatus() == 0) {
        expectRight(run);
        continue;
      }
      EXPECT_LT(files, 10);
      EXPECT_TRUE(run.exitStatus() == 1 || run.exitStatus() == 127);
      EXPECT_NE(run.err, "");
      run.expectNothingLeft();
    }
}

/// Runs of two programs, several of each, in both modes.
TEST_F(HostTest, SeveralRunsAtOnce) {
  TestProgram other = everyCollective();
  other.manifest["results"][0]["name"] = "z";
  for (auto &command : other.manifest["program"])
    if (command["command"] == "gemm")
      command["alpha"] = 2;
  other.write(folder->file("other.tp"));
  auto otherWords = [&](const std::string &mode) {
    return std::vector<std::string>{folder->file("other.tp"), "--random-data=1",
                                    "--output=z=@y.npy", "--transport=" + mode,
                                    "--repeat=10"};
  };
  ToolRun alone(otherWords("threads"));
  alone.run();
  std::string otherResult = readFile(alone.file("y.npy"));
  EXPECT_NE(otherResult, result);
  inParallel(8, [&](size_t i) {
    const std::string &mode = modes[i % 2];
    bool isOther = i / 2 % 2;
    ToolRun run(isOther ? otherWords(mode) : words(mode, {"--repeat=10"}));
    run.run();
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
    EXPECT_EQ(readFile(run.file("y.npy")), isOther ? otherResult : result);
    run.expectNothingLeft({"y.npy"});
  });
}

/// Two runs that write one file: it is one of theirs, whole.
TEST_F(HostTest, TwoRunsOneFile) {
  ToolRun run(shell("for i in 1 2 3 4 5 6; do $tp_run $artifact "
                    "--random-data=1 --output=@y.npy & done; wait"),
              "/bin/sh");
  run.run();
  EXPECT_EQ(run.err, "");
  expectRight(run);
}

/// By another file, or by other bytes in the same one, once all ranks have read
/// it: they have met, and one of them is stopped before it uses a constant.
TEST_F(HostTest, ArtifactReplacedWhileItRuns) {
  TestProgram program({{"tp", 2}});
  program.constants = std::string(40000, 'k');
  program.addResult("all", "i8", 80000);
  program.addCollective("all_gather", "i8", "", program.addGroup({{0, 1}}), 2,
                        constantBuffer(0), resultBuffer(0), 1, 40000);
  for (const std::string &mode : modes)
    for (bool inPlace : {false, true}) {
      bool threads = mode == "threads";
      // Only processes can be stopped alone: a thread is late, and the whole
      // process stands still while its file is replaced.
      ToolRun run(
          {"m.tp", "--transport=" + mode, "--output=all=@all.npy",
           threads ? "--inject-fault=late@1:0" : "--inject-fault=stop@1:0"});
      program.write(run.file("m.tp"));
      size_t size = readFile(run.file("m.tp")).size();
      run.start();
      pid_t stopped = threads ? run.process() : run.rankProcesses(2)[1];
      if (threads) {
        waitForThreads(stopped, 3);
        kill(stopped, SIGSTOP);
      }
      waitUntilStopped(stopped);
      if (!inPlace)
        std::filesystem::remove(run.file("m.tp"));
      {
        std::ofstream(run.file("m.tp")) << std::string(size, 'x');
      }
      kill(stopped, SIGCONT);
      run.finish();
      EXPECT_EQ(run.exitStatus(), 0) << run.err;
      std::string bytes = readFile(run.file("all.npy"));
      ASSERT_GE(bytes.size(), 160000u);
      EXPECT_EQ(bytes.substr(bytes.size() - 160000), std::string(160000, 'k'));
      run.expectNothingLeft({"m.tp", "all.npy"});
    }
}

/// The ranks' processes open the artifact again; it must be the parent's.
TEST_F(HostTest, ArtifactReplacedBetweenRanks) {
  std::unique_ptr<Artifact> opened;
  ASSERT_OK(Artifact::open(artifact(), opened));
  for (std::string identity : {std::to_string(opened->identity()),
                               std::to_string(opened->identity() + 1)}) {
    std::unique_ptr<Transport> transport;
    int descriptor = -1;
    ASSERT_OK(createProcessTransport(opened->entry(), transport, descriptor));
    // Alone, the rank waits for others until the run is aborted.
    ToolRun rank({artifact(), "--random-data=1", "--process-rank=0",
                  "--segment-file=" + std::to_string(descriptor),
                  "--artifact-identity=" + identity, "--start-timeout=0.2"});
    rank.run();
    EXPECT_EQ(rank.exitStatus(), 1);
    ASSERT_TRUE(transport->failure());
    std::string message = transport->failure()->message;
    if (identity == std::to_string(opened->identity()))
      EXPECT_EQ(message.find("rank 0 waited 0.2 s in the start of the run"), 0u)
          << message;
    else
      EXPECT_EQ(message, artifact() + ": replaced by another artifact while "
                                      "the ranks started");
  }
}

} // namespace

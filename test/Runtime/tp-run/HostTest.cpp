//===- HostTest.cpp - what the host does to a run -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals, full disks, limits, closed streams, files that are replaced, several
// runs at once: a run is right, or ends with a message, and leaves nothing.
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include "tp/Runtime/Runtime.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const std::vector<std::string> modes = {"thread", "process"};

class HostTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    everyCollective().write(artifact());
    ToolRun right({artifact(), "--random-data=1", "--output=y=@y.npy"});
    right.run();
    ASSERT_EQ(right.exitStatus(), 0) << right.err;
    result = readFile(right.file("y.npy"));
    ASSERT_NE(result, "");
  }
  static void TearDownTestSuite() { delete folder; }

  static std::string artifact() { return folder->file("m.tp"); }
  static std::vector<std::string> words(const std::string &mode,
                                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), {artifact(), "--random-data=1",
                               "--output=y=@y.npy", "--rank-mode=" + mode});
    return more;
  }
  static void expectRight(ToolRun &run) {
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
    EXPECT_EQ(readFile(run.file("y.npy")), result);
    run.expectNothingLeft({"y.npy"});
  }
  /// Runs the lines with $tp_run and $artifact set.
  static std::vector<std::string> shell(const std::string &lines) {
    return {"-c", "tp_run=" TP_RUN "; artifact=" + artifact() + "; " + lines};
  }

  static TemporaryFolder *folder;
  static std::string result;
};
TemporaryFolder *HostTest::folder;
std::string HostTest::result;

template <int Limit, rlim_t Value> void setLimit() {
  rlimit limit = {Value, Value};
  setrlimit(Limit, &limit);
}

/// Waits until the process has a handler for the signal.
void waitUntilCaught(pid_t process, int signal) {
  EXPECT_TRUE(eventually([&] {
    std::string status =
        readFile("/proc/" + std::to_string(process) + "/status");
    size_t place = status.find("SigCgt:");
    return place != std::string::npos &&
           std::strtoull(status.c_str() + place + 7, nullptr, 16) >>
                   (signal - 1) &
               1;
  })) << "no handler of signal "
      << signal;
}

/// At the start or in the middle of a step: no file is left, not a process
/// either, and the shell sees which signal it was.
TEST_F(HostTest, Interrupts) {
  struct Case {
    int signal;
    std::string mode;
    bool wholeGroup;
  };
  std::vector<Case> cases;
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    for (const std::string &mode : modes)
      for (bool wholeGroup : {false, true})
        cases.push_back({signal, mode, wholeGroup});
  inParallel(cases.size(), [&](size_t i) {
    const Case &c = cases[i];
    SCOPED_TRACE(std::to_string(c.signal) + " " + c.mode);
    ToolRun run(words(c.mode, {"--repeat=1000000000"}));
    run.start();
    waitUntilCaught(run.process(), c.signal);
    // As soon as there is a handler, or in the middle of a step.
    if (i % 3 != 0)
      waitUntilItComputes(c.mode == "process" ? run.rankProcesses(3)[i % 3]
                                              : run.process());
    kill(c.wholeGroup ? -run.process() : run.process(), c.signal);
    run.finish();
    EXPECT_TRUE(WIFSIGNALED(run.waitStatus));
    EXPECT_EQ(WTERMSIG(run.waitStatus), c.signal);
    EXPECT_EQ(run.err, "tp-run: error: interrupted by signal " +
                           std::to_string(c.signal) + "\n");
    run.expectNothingLeft();
  });
}

TEST_F(HostTest, InterruptOfTheCompiler) {
  TemporaryFolder bin;
  std::filesystem::copy_file(TP_RUN, bin.file("tp-run"));
  bin.write("tp-compile",
            "#!/bin/sh\necho begun > $3.begun\nexec sleep 10000\n");
  std::filesystem::permissions(bin.file("tp-compile"),
                               std::filesystem::perms::owner_all);
  bin.write("model.mlir", "module {}");
  ToolRun run({bin.file("model.mlir")}, bin.file("tp-run"));
  run.start();
  std::string made;
  ASSERT_TRUE(eventually([&] {
    // Folders may come and go while they are listed.
    std::error_code ignored;
    using Iterator = std::filesystem::recursive_directory_iterator;
    for (Iterator entry(run.file("tmp"), ignored), end; entry != end;
         entry.increment(ignored))
      if (entry->path().extension() == ".begun")
        made = entry->path();
    return !made.empty();
  }));
  std::filesystem::remove(made);
  kill(run.process(), SIGTERM);
  run.finish();
  EXPECT_TRUE(WIFSIGNALED(run.waitStatus));
  EXPECT_EQ(run.err, "tp-run: error: interrupted by signal 15\n");
  run.expectNothingLeft();
}

/// nohup ignores SIGHUP, and so does what it starts.
TEST_F(HostTest, AnIgnoredSignalStaysIgnored) {
  ToolRun run(words("process", {"--inject-fault=stop@1:3"}));
  run.before = [] { std::signal(SIGHUP, SIG_IGN); };
  run.start();
  pid_t stopped = run.rankProcesses(3)[1];
  waitUntilStopped(stopped);
  kill(-run.process(), SIGHUP);
  kill(stopped, SIGCONT);
  run.finish();
  expectRight(run);
}

TEST_F(HostTest, SignalsToARank) {
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGABRT, SIGBUS}) {
    ToolRun run(words("process", {"--repeat=1000000000"}));
    run.start();
    pid_t rank = run.rankProcesses(3)[2];
    waitUntilItComputes(rank);
    kill(rank, signal);
    run.finish();
    run.expectError(
        {"rank 2 was killed by signal " + std::to_string(signal) + " (",
         " in "});
  }
}

/// Ranks do not outlive a tool that cannot even say goodbye, and what has the
/// name of a result is one.
TEST_F(HostTest, KilledAtAnyMoment) {
  inParallel(24, [&](size_t i) {
    std::mt19937 random(i);
    ToolRun run(words(modes[i % 2], {"--repeat=50"}));
    run.start();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 150000));
    kill(run.process(), SIGKILL);
    run.finish();
    // Orphans end as soon as the kernel comes to it.
    run.awaitOrphans();
    run.expectNothingLeft({"y.npy"});
    if (std::filesystem::exists(run.file("y.npy")))
      EXPECT_EQ(readFile(run.file("y.npy")), result);
  });
}

/// In the middle of a run that would go on for years.
TEST_F(HostTest, KilledWhileRanksRun) {
  ToolRun run(words("process", {"--repeat=1000000000"}));
  run.start();
  run.rankProcesses(3);
  kill(run.process(), SIGKILL);
  run.finish();
  run.awaitOrphans();
  run.expectNothingLeft();
}

/// A result that is there already is replaced as a whole or not at all.
TEST_F(HostTest, InterruptedWhileAFileIsReplaced) {
  inParallel(24, [&](size_t i) {
    std::mt19937 random(i);
    ToolRun run(words("thread"));
    {
      std::ofstream(run.file("y.npy")) << "old";
    }
    run.start();
    std::this_thread::sleep_for(
        std::chrono::microseconds(20000 + random() % 60000));
    kill(run.process(), SIGTERM);
    run.finish();
    run.expectNothingLeft({"y.npy"});
    std::string now = readFile(run.file("y.npy"));
    EXPECT_TRUE(now == "old" || now == result) << now;
  });
}

TEST_F(HostTest, FileSizeLimit) {
  ToolRun run(words("thread"));
  run.before = setLimit<RLIMIT_FSIZE, 100>;
  run.run();
  run.expectError({"y.npy: cannot write: File too large"});
  ToolRun ranks(words("process"));
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
                "--rank-mode=" +
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
                    "$tp_run $artifact --random-data=1 --output=@y.npy "
                    "--rank-mode=process; echo $?; ls /dev/shm'"),
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
  for (std::string command :
       {"$run --stats > /dev/full", "$run --stats >&-",
        "$run --info > /dev/full",
        // The reader opens the gate once it has closed the pipe.
        "mkfifo gate; (read < gate; $run --stats) | (exec <&-; echo > gate)"}) {
    ToolRun run(shell("set -o pipefail; run=\"$tp_run $artifact "
                      "--random-data=1\"; (" +
                      command + ") 2>&1; echo $?"),
                "/bin/bash");
    run.run();
    EXPECT_EQ(run.out, failed) << command;
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
                      "--output=@y.npy --rank-mode=" +
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

/// More than the machine has: nothing is taken before it is used, so that only
/// an absurd size is refused at once.
TEST_F(HostTest, MoreMemoryThanThereIs) {
  TestProgram program({{"tp", 2}});
  program.manifest["memory"]["arena_bytes"] = int64_t(1) << 47;
  program.write(folder->file("huge.tp"));
  for (const std::string &mode : modes) {
    ToolRun run({folder->file("huge.tp"), "--rank-mode=" + mode});
    run.run();
    run.expectError(
        {mode == "thread" ? "cannot allocate 2814749767" : "cannot m"});
  }
}

TEST_F(HostTest, FewOpenFiles) {
  for (const std::string &mode : modes)
    for (int files : {4, 5, 6, 10}) {
      ToolRun run(shell("ulimit -n " + std::to_string(files) +
                        "; exec $tp_run $artifact --random-data=1 "
                        "--output=@y.npy --rank-mode=" +
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
                                    "--output=z=@y.npy", "--rank-mode=" + mode,
                                    "--repeat=10"};
  };
  ToolRun alone(otherWords("thread"));
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
      bool threads = mode == "thread";
      // Only processes can be stopped alone: a thread is late, and the whole
      // process stands still while its file is replaced.
      ToolRun run(
          {"m.tp", "--rank-mode=" + mode, "--output=all=@all.npy",
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

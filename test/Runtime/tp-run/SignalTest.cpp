//===- SignalTest.cpp - signals to tp-run and its ranks -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At any moment: a run ends with a message and leaves nothing.
//
//===----------------------------------------------------------------------===//

#include "HostTest.h"
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/wait.h>
#include <thread>

using namespace tp::test;
using namespace tp::runtime;

namespace {

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
      waitUntilItComputes(c.mode == "processes" ? run.rankProcesses(3)[i % 3]
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
  ToolRun run(words("processes", {"--inject-fault=stop@1:3"}));
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
    ToolRun run(words("processes", {"--repeat=1000000000"}));
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
  ToolRun run(words("processes", {"--repeat=1000000000"}));
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
    ToolRun run(words("threads"));
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

} // namespace

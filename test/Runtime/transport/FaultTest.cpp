//===- FaultTest.cpp - ranks that fail, wherever ranks meet ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include "tp/Runtime/FaultTransport.h"
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <sys/wait.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Commands 0 to 9 and 11 of everyCollective, where ranks meet, and both ends.
std::vector<std::string> meetingPlaces() {
  std::vector<std::string> places = {"start", "end", "11"};
  for (int command = 0; command < 10; ++command)
    places.push_back(std::to_string(command));
  return places;
}

/// How messages name a place.
std::string nameOf(const std::string &place) {
  if (place == "start")
    return "the start of the run";
  if (place == "end")
    return "the end of the step";
  if (place == "10")
    return "command 10, gemm 'linear' of module 'mlp'";
  int64_t command = std::stoi(place);
  int64_t id = command == 11 ? 10 : command;
  const char *kinds[] = {"all_reduce", "all_gather", "reduce_scatter",
                         "all_to_all", "permute"};
  std::string kind = kinds[id % 5];
  return "command " + place + ", " + kind + " '" + kind + "_" +
         std::to_string(id) + "' of module 'layer." + std::to_string(id) + "'";
}

struct FaultCase {
  std::string kind, place;
  int64_t rank;
};

class FaultTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    everyCollective().write(folder->file("m.tp"));
    ToolRun right(arguments({"--output=y=@y.npy"}));
    right.run();
    ASSERT_EQ(right.exitStatus(), 0) << right.err;
    result = readFile(right.file("y.npy"));
    ASSERT_NE(result, "");
  }
  static void TearDownTestSuite() { delete folder; }

  static std::vector<std::string> arguments(std::vector<std::string> more) {
    std::vector<std::string> words = {folder->file("m.tp"), "--random-data=1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// Every place and rank for `kinds[0]`; for the others each place with one
  /// rank, and each rank with some place.
  static std::vector<FaultCase> casesOf(const std::vector<std::string> &kinds) {
    std::vector<FaultCase> cases;
    std::vector<std::string> places = meetingPlaces();
    for (int64_t rank = 0; rank < 3; ++rank)
      for (const std::string &place : places)
        cases.push_back({kinds[0], place, rank});
    for (size_t kind = 1; kind < kinds.size(); ++kind)
      for (size_t place = 0; place < places.size(); ++place)
        cases.push_back({kinds[kind], places[place], int64_t(place % 3)});
    return cases;
  }

  using Expected = std::function<std::vector<std::string>(const FaultCase &)>;

  /// Runs all cases, which reach a time-out only if `limited`. `expected` gives
  /// the parts of the message, none for a run that must come out right.
  static void check(const std::vector<FaultCase> &cases,
                    const std::string &mode, const Expected &expected,
                    bool limited = false) {
    inParallel(cases.size(), [&](size_t i) {
      for (double seconds : timeouts)
        if (tryCase(cases[i], mode, limited ? seconds : neverSeconds, expected))
          return;
    });
  }
  /// False if the time-out was too short for this machine.
  static bool tryCase(const FaultCase &fault, const std::string &mode,
                      double timeout, const Expected &expected) {
    std::string spelled =
        fault.kind + "@" + std::to_string(fault.rank) + ":" + fault.place;
    SCOPED_TRACE(spelled);
    bool start = fault.place == "start";
    ToolRun run(arguments(
        {"--transport=" + mode, "--inject-fault=" + spelled,
         "--timeout=" + secondsText(start ? neverSeconds : timeout),
         "--start-timeout=" + secondsText(start ? timeout : neverSeconds),
         "--output=y=@y.npy"}));
    run.run();
    std::vector<std::string> parts = expected(fault);
    for (std::string &part : parts)
      part = withTimeout(part, timeout);
    if (parts.empty()) {
      EXPECT_EQ(run.exitStatus(), 0) << run.err;
      EXPECT_EQ(readFile(run.file("y.npy")), result);
      run.expectNothingLeft({"y.npy"});
      return true;
    }
    if (firedElsewhere(run.err, parts, timeout))
      return false;
    run.expectError(parts);
    return true;
  }

  static TemporaryFolder *folder;
  static std::string result;
};
TemporaryFolder *FaultTest::folder;
std::string FaultTest::result;

/// Without a time-out: the others are told.
TEST_F(FaultTest, ProcessesThatEnd) {
  std::vector<FaultCase> cases = casesOf({"die", "crash", "exit"});
  cases.push_back({"die", "10", 1});
  check(cases, "processes", [](const FaultCase &fault) {
    std::string how = fault.kind == "die" ? " was killed by signal 9 (Killed)"
                      : fault.kind == "exit" ? " ended with exit status 0"
                                             : " was killed by signal 11";
    return std::vector{"rank " + std::to_string(fault.rank) + how,
                       " in " + nameOf(fault.place)};
  });
}

TEST_F(FaultTest, ProcessesThatStop) {
  std::vector<FaultCase> cases = casesOf({"stop"});
  cases.push_back({"hang", "3", 1});
  auto expected = [](const FaultCase &fault) {
    std::string rank = "rank " + std::to_string(fault.rank);
    std::vector parts = {" waited %T s in " + nameOf(fault.place),
                         " for 1 of 3 ranks that did not join: " + rank +
                             " is at " + nameOf(fault.place)};
    if (fault.kind == "stop")
      parts.push_back("; " + rank + " was stopped by signal 19");
    return parts;
  };
  check(cases, "processes", expected, /*limited=*/true);
}

TEST_F(FaultTest, SlowProcessesAreWaitedFor) {
  std::vector<FaultCase> cases = casesOf({"late"});
  check(cases, "processes",
        [](const FaultCase &) { return std::vector<std::string>(); });
}

TEST_F(FaultTest, ProcessesThatFailOrDiverge) {
  std::vector<FaultCase> cases;
  for (const FaultCase &fault : casesOf({"none", "error", "wrong"}))
    if (fault.kind == "error" ||
        (fault.kind == "wrong" && isdigit(fault.place[0])))
      cases.push_back(fault);
  check(cases, "processes", [](const FaultCase &fault) {
    std::string rank = "rank " + std::to_string(fault.rank);
    if (fault.kind == "error")
      return std::vector{rank + " failed in " + nameOf(fault.place)};
    return std::vector<std::string>{"the ranks diverged: rank ",
                                    " is in " + nameOf(fault.place), rank};
  });
}

/// A stopped rank that goes on in time is a slow one.
TEST_F(FaultTest, AStoppedProcessThatGoesOn) {
  std::vector<std::string> places = meetingPlaces();
  inParallel(places.size(), [&](size_t i) {
    std::string rank = std::to_string(i % 3);
    SCOPED_TRACE("stop@" + rank + ":" + places[i]);
    std::string never = secondsText(neverSeconds);
    ToolRun run(arguments({"--transport=processes", "--timeout=" + never,
                           "--start-timeout=" + never,
                           "--inject-fault=stop@" + rank + ":" + places[i],
                           "--output=y=@y.npy"}));
    run.start();
    pid_t process = run.rankProcesses(3)[i % 3];
    waitUntilStopped(process);
    EXPECT_EQ(waitpid(run.process(), &run.waitStatus, WNOHANG), 0);
    kill(process, SIGCONT);
    run.finish();
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
    EXPECT_EQ(readFile(run.file("y.npy")), result);
    run.expectNothingLeft({"y.npy"});
  });
}

/// Nobody is left who could wait for anybody.
TEST_F(FaultTest, AllProcessesStopped) {
  const std::vector<std::string> parts = {"rank 0 ", " in ",
                                          "was stopped by signal 19"};
  for (double seconds : timeouts) {
    ToolRun run(
        arguments({"--transport=processes", "--timeout=" + secondsText(seconds),
                   "--start-timeout=" + secondsText(neverSeconds),
                   "--repeat=100000000"}));
    run.start();
    for (pid_t process : run.rankProcesses(3))
      waitUntilItComputes(process);
    // All at the same moment; then only the one that watches goes on.
    kill(-run.process(), SIGSTOP);
    waitUntilStopped(run.process());
    kill(run.process(), SIGCONT);
    run.finish();
    if (firedElsewhere(run.err, parts, seconds))
      continue;
    run.expectError(parts);
    return;
  }
}

/// What a terminal does on ^Z and fg: no time passes for those who wait.
TEST_F(FaultTest, AStoppedRunThatGoesOn) {
  for (double seconds : timeouts) {
    ToolRun run(
        arguments({"--transport=processes", "--timeout=" + secondsText(seconds),
                   "--inject-fault=stop@1:3", "--output=y=@y.npy"}));
    run.start();
    std::vector<pid_t> ranks = run.rankProcesses(3);
    waitUntilStopped(ranks[1]);
    // The others sleep once they have looked often enough.
    for (pid_t waiting : {ranks[0], ranks[2]})
      waitUntilItLooksAgain(waiting);
    kill(-run.process(), SIGSTOP);
    for (pid_t process : {ranks[0], ranks[2], run.process()})
      waitUntilStopped(process);
    // Longer than anyone would wait.
    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * seconds));
    // Those who wait go on first: the one waited for must not save them.
    for (pid_t process : {ranks[0], ranks[2], run.process()})
      kill(process, SIGCONT);
    for (pid_t waiting : {ranks[0], ranks[2]})
      waitUntilItLooksAgain(waiting);
    kill(-run.process(), SIGCONT);
    run.finish();
    // One in which the waiting itself took longer says nothing.
    if (firedElsewhere(run.err, {"no such message"}, seconds))
      continue;
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
    EXPECT_EQ(readFile(run.file("y.npy")), result);
    return;
  }
}

/// Wherever it is at that moment, inside a collective too.
TEST_F(FaultTest, KilledAtAnyMoment) {
  inParallel(24, [&](size_t i) {
    std::mt19937 random(i);
    SCOPED_TRACE(i);
    ToolRun run(arguments({"--transport=processes",
                           "--timeout=" + secondsText(neverSeconds),
                           "--repeat=100000000", "--output=y=@y.npy"}));
    run.start();
    pid_t process = run.rankProcesses(3)[i % 3];
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100000));
    kill(process, SIGKILL);
    run.finish();
    run.expectError({"rank " + std::to_string(i % 3) +
                         " was killed by signal 9 (Killed) in ",
                     ""});
  });
}

TEST_F(FaultTest, Threads) {
  std::vector<FaultCase> cases = casesOf({"die", "error"});
  cases.push_back({"die", "10", 1});
  check(cases, "threads", [](const FaultCase &fault) {
    std::string how = fault.kind == "die" ? " died in " : " failed in ";
    return std::vector{"rank " + std::to_string(fault.rank) + how +
                       nameOf(fault.place)};
  });
}

TEST_F(FaultTest, ThreadsThatAreLateOrNeverCome) {
  check(casesOf({"late"}), "threads",
        [](const FaultCase &) { return std::vector<std::string>(); });
  std::vector<FaultCase> cases;
  for (const FaultCase &fault : casesOf({"none", "absent"}))
    if (fault.kind == "absent")
      cases.push_back(fault);
  cases.push_back({"hang", "0", 1});
  cases.push_back({"hang", "end", 2});
  auto expected = [](const FaultCase &fault) {
    return std::vector{" waited %T s in " + nameOf(fault.place),
                       " for 1 of 3 ranks that did not join: rank " +
                           std::to_string(fault.rank) + " is at " +
                           nameOf(fault.place)};
  };
  check(cases, "threads", expected, /*limited=*/true);
}

TEST(FaultOptionTest, WhatMakesNoSense) {
  auto artifact = everyCollective().open();
  ASSERT_TRUE(artifact);
  for (const char *text :
       {"", "die", "die@", "die@1", "die@1:", "@1:2", "explode@1:2", "die@-1:2",
        "die@1:-2", "die@1:x", "none@1:2", "die@1:2x", "die1:2@"})
    EXPECT_FALSE(parseFault(text)) << text;
  auto check = [&](const char *text) {
    std::optional<Fault> fault = parseFault(text);
    EXPECT_TRUE(fault) << text;
    return checkFault(artifact->entry(), fault.value_or(Fault()));
  };
  EXPECT_OK(check("die@2:11"));
  EXPECT_OK(check("wrong@2:11"));
  EXPECT_OK(check("late@0:end"));
  expectError(check("die@3:1"), "fault 'die': no rank 3, there are 3");
  expectError(check("die@0:12"), "no command 12, there are 12");
  expectError(check("error@0:10"), "ranks do not meet in command 10, gemm");
  expectError(check("wrong@0:start"), "no other collective of the same group");
}

} // namespace

//===- FaultTest.cpp - ranks that fail, wherever ranks meet ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include "tp/Runtime/FaultTransport.h"
#include <chrono>
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

  /// Runs all cases. `expected` gives the parts of the message, none for a run
  /// that must come out right.
  static void
  check(const std::vector<FaultCase> &cases, const std::string &mode,
        double timeoutSeconds,
        const std::function<std::vector<std::string>(const FaultCase &)>
            &expected) {
    inParallel(cases.size(), [&](size_t i) {
      const FaultCase &fault = cases[i];
      std::string spelled =
          fault.kind + "@" + std::to_string(fault.rank) + ":" + fault.place;
      SCOPED_TRACE(spelled);
      std::string seconds = std::to_string(timeoutSeconds);
      ToolRun run(arguments(
          {"--rank-mode=" + mode, "--inject-fault=" + spelled,
           "--timeout=" + seconds,
           "--start-timeout=" + (fault.place == "start" ? seconds : "60"),
           "--output=y=@y.npy"}));
      auto begin = std::chrono::steady_clock::now();
      run.run();
      std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begin;
      EXPECT_LT(took.count(), std::min(timeoutSeconds, 5.0) + 15);
      std::vector<std::string> parts = expected(fault);
      if (!parts.empty()) {
        run.expectError(parts);
        return;
      }
      EXPECT_EQ(run.exitStatus(), 0) << run.err;
      EXPECT_EQ(readFile(run.file("y.npy")), result);
      run.expectNothingLeft({"y.npy"});
    });
  }

  static TemporaryFolder *folder;
  static std::string result;
};
TemporaryFolder *FaultTest::folder;
std::string FaultTest::result;

/// Long before the time-out, which is so long that waiting for it would fail.
TEST_F(FaultTest, ProcessesThatEnd) {
  std::vector<FaultCase> cases = casesOf({"die", "crash", "exit"});
  cases.push_back({"die", "10", 1});
  check(cases, "process", 300, [](const FaultCase &fault) {
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
  check(cases, "process", 2.5, [](const FaultCase &fault) {
    std::string rank = "rank " + std::to_string(fault.rank);
    std::vector parts = {" waited 2.5 s in " + nameOf(fault.place),
                         " for 1 of 3 ranks that did not join: " + rank +
                             " is at " + nameOf(fault.place)};
    if (fault.kind == "stop")
      parts.push_back("; " + rank + " was stopped by signal 19");
    return parts;
  });
}

TEST_F(FaultTest, SlowProcessesAreWaitedFor) {
  std::vector<FaultCase> cases = casesOf({"late"});
  check(cases, "process", 60,
        [](const FaultCase &) { return std::vector<std::string>(); });
}

TEST_F(FaultTest, ProcessesThatFailOrDiverge) {
  std::vector<FaultCase> cases;
  for (const FaultCase &fault : casesOf({"none", "error", "wrong"}))
    if (fault.kind == "error" ||
        (fault.kind == "wrong" && isdigit(fault.place[0])))
      cases.push_back(fault);
  check(cases, "process", 300, [](const FaultCase &fault) {
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
    ToolRun run(arguments({"--rank-mode=process", "--timeout=60",
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
  ToolRun run(arguments({"--rank-mode=process", "--timeout=0.5",
                         "--start-timeout=0.5", "--repeat=100000000"}));
  run.start();
  for (pid_t process : run.rankProcesses(3))
    kill(process, SIGSTOP);
  run.finish();
  run.expectError({"rank 0 ", " in ", "was stopped by signal 19"});
}

/// What a terminal does on ^Z and fg: no time passes for those who wait.
TEST_F(FaultTest, AStoppedRunThatGoesOn) {
  ToolRun run(arguments({"--rank-mode=process", "--timeout=2.5",
                         "--inject-fault=stop@1:3", "--output=y=@y.npy"}));
  run.start();
  std::vector<pid_t> ranks = run.rankProcesses(3);
  waitUntilStopped(ranks[1]);
  // Until the others sleep: they do so once they have looked often enough.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(-run.process(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(4000));
  // Those who wait go on first: the one waited for must not save them.
  for (pid_t process : {ranks[0], ranks[2], run.process()})
    kill(process, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(-run.process(), SIGCONT);
  run.finish();
  EXPECT_EQ(run.exitStatus(), 0) << run.err;
  EXPECT_EQ(readFile(run.file("y.npy")), result);
}

/// Wherever it is at that moment, inside a collective too.
TEST_F(FaultTest, KilledAtAnyMoment) {
  inParallel(24, [&](size_t i) {
    std::mt19937 random(i);
    SCOPED_TRACE(i);
    ToolRun run(arguments({"--rank-mode=process", "--timeout=300",
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
  check(cases, "thread", 300, [](const FaultCase &fault) {
    std::string how = fault.kind == "die" ? " died in " : " failed in ";
    return std::vector{"rank " + std::to_string(fault.rank) + how +
                       nameOf(fault.place)};
  });
}

TEST_F(FaultTest, ThreadsThatAreLateOrNeverCome) {
  check(casesOf({"late"}), "thread", 60,
        [](const FaultCase &) { return std::vector<std::string>(); });
  std::vector<FaultCase> cases;
  for (const FaultCase &fault : casesOf({"none", "absent"}))
    if (fault.kind == "absent")
      cases.push_back(fault);
  cases.push_back({"hang", "0", 1});
  cases.push_back({"hang", "end", 2});
  check(cases, "thread", 2.5, [](const FaultCase &fault) {
    return std::vector{" waited 2.5 s in " + nameOf(fault.place),
                       " for 1 of 3 ranks that did not join: rank " +
                           std::to_string(fault.rank) + " is at " +
                           nameOf(fault.place)};
  });
}

/// Kind, dtype and size of a collective, each alone, and the channel.
TEST(DivergenceTest, KindDtypeSizeAndReduction) {
  struct Call {
    const char *kind, *dtype, *reduction;
    int64_t outer, block;
  };
  const Call right = {"all_reduce", "f32", "sum", 2, 2000};
  const Call others[] = {{"all_gather", "f32", "sum", 2, 2000},
                         {"all_reduce", "i32", "sum", 2, 2000},
                         {"all_reduce", "f32", "max", 2, 2000},
                         {"all_reduce", "f32", "sum", 1, 2000},
                         {"all_reduce", "f32", "sum", 4000, 1},
                         {"all_reduce", "f32", "sum", 2, 2},
                         {"reduce_scatter", "f64", "sum", 2, 1000}};
  for (const Call &other : others) {
    TestProgram one({{"tp", 2}}), two({{"tp", 2}});
    for (TestProgram *program : {&one, &two}) {
      const Call &call = program == &one ? right : other;
      int64_t group = program->addGroup({{0, 1}});
      program->addArgument("a", "f64", 8000);
      program->addResult("r", "f64", 8000);
      program->addCollective(call.kind, call.dtype, call.reduction, group, 2,
                             argumentBuffer(0), resultBuffer(0), call.outer,
                             call.block);
    }
    auto first = one.open(), second = two.open();
    ASSERT_TRUE(first && second);
    for (int64_t diverging : {0, 1}) {
      std::unique_ptr<Transport> transport, attached;
      int descriptor = -1;
      ASSERT_OK(
          createProcessTransport(first->manifest(), transport, descriptor));
      ASSERT_OK(
          attachProcessTransport(second->manifest(), descriptor, attached));
      std::vector<Status> statuses(2);
      std::vector<std::thread> threads;
      for (int64_t r : {0, 1})
        threads.emplace_back([&, r] {
          bool diverges = r == diverging;
          std::unique_ptr<Rank> rank;
          EXPECT_OK(Rank::create(diverges ? *second : *first,
                                 diverges ? *attached : *transport, r, {},
                                 rank));
          statuses[r] = rank->step();
        });
      for (std::thread &thread : threads)
        thread.join();
      for (const Status &status : statuses) {
        EXPECT_EQ(status.code(), Code::RankFailed);
        expectError(status, "the ranks diverged: rank ");
        expectError(status, "_0' of module 'layer.0', rank ");
      }
    }
  }
}

/// Groups that overlap: each rank waits where the other one does not come.
TEST(DivergenceTest, AnotherGroup) {
  TestProgram program({{"tp", 2}});
  int64_t one = program.addGroup({{0, 1}}), two = program.addGroup({{0, 1}});
  program.addArgument("a", "f32", 4);
  program.addResult("r", "f32", 4);
  for (int64_t group : {one, two})
    program.addCollective("all_reduce", "f32", "sum", group, 2,
                          argumentBuffer(0), resultBuffer(0), 1, 4);
  auto artifact = program.open();
  ASSERT_TRUE(artifact);
  std::unique_ptr<Transport> transport;
  ASSERT_OK(createThreadTransport(artifact->manifest(), transport));
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  for (int64_t r : {0, 1})
    threads.emplace_back([&, r] {
      std::unique_ptr<Rank> rank;
      EXPECT_OK(Rank::create(*artifact, *transport, r, {}, rank));
      transport->progress(r, r);
      const auto &command =
          std::get<CollectiveCommand>(artifact->manifest().program[r].what);
      statuses[r] = transport->collective(
          r, {&command, rank->argument(0), rank->result(0)}, r ? 60 : 0.2);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : statuses)
    expectError(status, "rank 0 waited 0.2 s in command 0, all_reduce "
                        "'all_reduce_0' of module 'layer.0' for 1 of 2 ranks "
                        "that did not join: rank 1 is at command 1, all_reduce "
                        "'all_reduce_1' of module 'layer.1'");
}

/// Loading may take any time as long as there are signs of life.
TEST(StartTest, SignsOfLifeExtendTheWait) {
  auto artifact = everyCollective().open();
  ASSERT_TRUE(artifact);
  for (bool alive : {true, false}) {
    std::unique_ptr<Transport> transport;
    ASSERT_OK(createThreadTransport(artifact->manifest(), transport));
    std::vector<Status> statuses(3);
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < 3; ++r)
      threads.emplace_back([&, r] {
        EXPECT_OK(transport->attach(r));
        for (int i = 0; r == 1 && (alive ? i < 15 : !transport->aborted());
             ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          if (alive)
            transport->alive(r);
        }
        if (r != 1 || alive)
          statuses[r] = transport->meet(r, 1);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (int64_t r : {0, 2}) {
      if (alive)
        EXPECT_OK(statuses[r]);
      else
        expectError(statuses[r],
                    "waited 1 s in the start of the run for 1 of 3 ranks that "
                    "did not join: rank 1 is at the start");
    }
  }
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
    return checkFault(artifact->manifest(), fault.value_or(Fault()));
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

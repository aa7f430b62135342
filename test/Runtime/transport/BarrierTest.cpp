//===- BarrierTest.cpp - ranks that wait for each other -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks as threads of this process, on one transport: where they diverge, and
// how long they wait for one that loads.
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include <chrono>
#include <latch>
#include <thread>

using namespace tp::test;
using namespace tp::runtime;

namespace {

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
      ASSERT_OK(createProcessTransport(first->entry(), transport, descriptor));
      ASSERT_OK(attachProcessTransport(second->entry(), descriptor, attached));
      std::vector<Status> statuses(2);
      std::vector<std::thread> threads;
      for (int64_t r : {0, 1})
        threads.emplace_back([&, r] {
          bool diverges = r == diverging;
          std::unique_ptr<Rank> rank;
          EXPECT_OK(createRank(diverges ? *second : *first,
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
  ASSERT_OK(createThreadTransport(artifact->entry(), transport));
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  std::latch bothAreThere(2);
  for (int64_t r : {0, 1})
    threads.emplace_back([&, r] {
      std::unique_ptr<Rank> rank;
      EXPECT_OK(createRank(*artifact, *transport, r, {}, rank));
      transport->progress(r, r);
      bothAreThere.arrive_and_wait();
      const auto &command =
          std::get<CollectiveCommand>(artifact->entry().program[r].what);
      statuses[r] = transport->collective(
          r,
          {&command, &artifact->entry().collectives[command.collective],
           rank->argument(0), rank->result(0)},
          r ? neverSeconds : 0.2);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : statuses)
    expectError(status, "rank 0 waited 0.2 s in command 0, all_reduce "
                        "'all_reduce_0' of module 'layer.0' for 1 of 2 ranks "
                        "that did not join: rank 1 is at command 1, all_reduce "
                        "'all_reduce_1' of module 'layer.1'");
}

/// Loading may take any time as long as there are heartbeats.
TEST(StartTest, SignsOfLifeExtendTheWait) {
  auto artifact = everyCollective().open();
  ASSERT_TRUE(artifact);
  // What the ranks other than 1 say, which comes after `loading`.
  auto barrier = [&](double timeout,
                     const std::function<void(Transport &)> &loading) {
    std::unique_ptr<Transport> transport;
    EXPECT_OK(createThreadTransport(artifact->entry(), transport));
    std::vector<Status> statuses(3);
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < 3; ++r)
      threads.emplace_back([&, r] {
        EXPECT_OK(transport->attach(r));
        if (r == 1)
          loading(*transport);
        statuses[r] = transport->barrier(r, r == 1 ? neverSeconds : timeout);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (int64_t r : {0, 2})
      if (!statuses[r].ok())
        return statuses[r].message();
    return std::string();
  };
  using Clock = std::chrono::steady_clock;
  for (double seconds : timeouts) {
    std::string message = barrier(seconds, [&](Transport &transport) {
      auto end = Clock::now() + std::chrono::duration<double>(1.5 * seconds);
      while (Clock::now() < end) {
        transport.heartbeat(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    if (firedElsewhere(message, {"no such message"}, seconds))
      continue;
    EXPECT_EQ(message, "");
    break;
  }
  const std::string wanted = "waited %T s in the start of the run for 1 of 3 "
                             "ranks that did not join: rank 1 is at the start";
  for (double seconds : timeouts) {
    std::string message = barrier(seconds, [](Transport &transport) {
      EXPECT_TRUE(eventually([&] { return transport.aborted(); }));
    });
    std::string part = withTimeout(wanted, seconds);
    if (firedElsewhere(message, {part}, seconds))
      continue;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    break;
  }
}

} // namespace

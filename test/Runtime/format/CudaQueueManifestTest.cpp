//===- CudaQueueManifestTest.cpp - queues in manifests, right and wrong ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader refuses an order that leaves a result to chance: a command of one
// queue that does not wait for what the other queue does with its memory.
//
//===----------------------------------------------------------------------===//

#include "Mistakes.h"
#include "cuda/CudaRun.h"
#include <algorithm>

using namespace tp::test;
using namespace tp::runtime;

namespace {

Status parse(const json &manifest, Manifest &parsed) {
  json whole = manifest;
  for (json &row : whole["collectives"])
    row["order"] = "library";
  return parseManifest(document(whole).dump(), 0, parsed);
}

Status parse(const json &manifest) {
  Manifest parsed;
  return parse(manifest, parsed);
}

TEST(CudaQueueManifestTest, ReadsQueuesAndWaits) {
  Manifest parsed;
  ASSERT_OK(parse(everythingOnDevice(2).manifest, parsed));
  const Entry &entry = parsed.entries[0];
  std::vector<int64_t> waits;
  for (const Command &command : entry.program) {
    waits.push_back(command.waitFor.value_or(-1));
    EXPECT_EQ(command.queue == Queue::Communication,
              std::holds_alternative<CollectiveCommand>(command.what));
    EXPECT_FALSE(command.withPrevious);
  }
  EXPECT_EQ(waits,
            (std::vector<int64_t>{-1, 0, -1, 1, -1, -1, 5, -1, -1, -1, 9}));
  EXPECT_FALSE(entry.endWaitsFor);
}

TEST(CudaQueueManifestTest, MistakesAreNamed) {
  expectMistakes(everythingOnDevice(2).manifest, "queues",
                 [](const json &manifest) { return parse(manifest); });
}

TEST(CudaQueueManifestTest, MoreWaitsThanNeededAreRight) {
  json manifest = everythingOnDevice(2).manifest;
  manifest["program"][2]["wait_for"] = 1;
  manifest["program"][3].erase("wait_for");
  manifest["program"][7]["wait_for"] = 2;
  manifest["end_waits_for"] = 6;
  EXPECT_OK(parse(manifest));
}

TEST(CudaQueueManifestTest, UnknownSizesReachToTheEnd) {
  CudaProgram program = everythingOnDevice(2, /*known=*/false);
  EXPECT_OK(parse(inQueues(program.manifest)));
  program.inQueues({{1, 0}, {3, 1}, {6, 5}, {10, 9}});
  expectError(parse(program.manifest),
              "command 2, kernel scale 'scale_loc' of module 'mlp': it touches "
              "memory that command 1 of the queue communication touches");
}

/// Collectives from one argument, or the later ones from `from`, each to a
/// result of its own.
CudaProgram collectives(int count, const json &from = argumentBuffer(0)) {
  CudaProgram program({{"tp", 2}});
  program.addArgument("a", "f32", 64);
  int64_t group = program.addGroup({{0, 1}});
  for (int i = 0; i < count; ++i) {
    program.addResult("r" + std::to_string(i), "f32", 64);
    program.addCollective("all_reduce", "f32", "sum", group, 2,
                          i ? from : argumentBuffer(0), resultBuffer(i), 1, 64);
  }
  program.inQueues({});
  return program;
}

TEST(CudaQueueManifestTest, TheEndWaitsForTheLastCollective) {
  json manifest = collectives(2).manifest;
  expectError(parse(manifest),
              "expected the end of the step to wait for command 1");
  manifest["end_waits_for"] = 0;
  expectError(parse(manifest),
              "expected the end of the step to wait for command 1");
  manifest["end_waits_for"] = 1;
  EXPECT_OK(parse(manifest));
}

TEST(CudaQueueManifestTest, CollectivesThatStartAsOneShareNoMemory) {
  for (bool shares : {false, true}) {
    json manifest =
        collectives(3, shares ? resultBuffer(0) : argumentBuffer(0)).manifest;
    manifest["end_waits_for"] = 2;
    EXPECT_OK(parse(manifest));
    manifest["program"][2]["with_previous"] = true;
    EXPECT_OK(parse(manifest));
    manifest["program"][1]["with_previous"] = true;
    if (shares)
      expectError(parse(manifest),
                  "it starts with command 0, which touches the same memory");
    else
      EXPECT_OK(parse(manifest));
  }
}

TEST(CudaQueueManifestTest, OneThatStartsWithOthersDoesNotWait) {
  CudaProgram program = collectives(2);
  program.addLaunch("scale",
                    {accessed(argumentBuffer(0), 256, "read"),
                     accessed(resultBuffer(1), 256, "write")},
                    64);
  // The kernel comes first, then both collectives.
  json &commands = program.manifest["program"];
  std::rotate(commands.begin(), --commands.end(), commands.end());
  commands[2]["wait_for"] = 0;
  program.manifest["end_waits_for"] = 2;
  EXPECT_OK(parse(program.manifest));
  commands[2]["with_previous"] = true;
  expectError(parse(program.manifest),
              "it starts with the command before it, expected no wait");
}

TEST(CudaQueueManifestTest, ProcessorsHaveNoQueues) {
  auto parseHost = [](const json &manifest) {
    Manifest parsed;
    return parseManifest(document(manifest).dump(), 0, parsed);
  };
  const json manifest = everythingOnHost(2).manifest;
  EXPECT_OK(parseHost(manifest));
  for (const char *field : {"queue", "wait_for", "with_previous"}) {
    json wrong = manifest;
    wrong["program"][1][field] = 0;
    expectError(parseHost(wrong), "a command of a cuda target alone has it");
  }
  json wrong = manifest;
  wrong["end_waits_for"] = 0;
  expectError(parseHost(wrong), "an entry of a cuda target alone has it");
}

/// What the compiler describes is checked before it is written.
TEST(CudaQueueManifestTest, WritersAreCheckedToo) {
  Manifest parsed;
  ASSERT_OK(
      parseManifest(document(everythingOnHost(2).manifest).dump(), 0, parsed));
  parsed.entries[0].program[1].queue = Queue::Communication;
  expectError(checkManifest(parsed, 0),
              "a command of target cpu has no queue and waits for nothing");
}

} // namespace

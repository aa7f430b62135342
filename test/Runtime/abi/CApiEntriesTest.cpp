//===- CApiEntriesTest.cpp - several entries of one artifact --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactTest.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Both entries add to the buffer "s": "ten" 10, in place, "given" its input
/// "x", by a copy or in place. "given" fails where its input "bad" is not 0; it
/// has a larger arena and a result of its own.
TestProgram programOfTwo(bool bothInPlace = false) {
  auto begin = [&](const char *name) {
    TestProgram program({{"tp", 1}});
    program.manifest["name"] = name;
    program.manifest["asserts"] = {{{"id", 7}, {"message", "too large"}}};
    program.setConstants({10, 10, 10, 10});
    program.addArgument("s", "f32", 4);
    program.manifest["arguments"][0]["kind"] = "buffer";
    return program;
  };
  auto addNext = [](TestProgram &program, bool inPlace) {
    program.addResult("next", "f32", 4);
    program.manifest["results"][0]["updates"] = "s";
    if (inPlace)
      program.manifest["results"][0]["in_place"] = true;
  };
  TestProgram program = begin("ten"), given = begin("given");
  addNext(program, /*inPlace=*/true);
  program.manifest["memory"]["arena_bytes"] = 64;
  program.addKernel("add_constant",
                    {argumentBuffer(0), constantBuffer(0), argumentBuffer(0)});
  given.addArgument("x", "f32", 4);
  given.addArgument("bad", "f32", 1);
  addNext(given, bothInPlace);
  given.addResult("sum", "f32", 4);
  given.manifest["memory"]["arena_bytes"] = 4096;
  for (const json &to :
       {resultBuffer(1), bothInPlace ? argumentBuffer(0) : resultBuffer(0)})
    given.addKernel("add_constant", {argumentBuffer(0), argumentBuffer(1), to});
  given.addKernel("check_zero", {argumentBuffer(2)});
  program.addEntry(given);
  return program;
}

class CApiEntriesTest : public ArtifactTest {
protected:
  void SetUp() override { start(programOfTwo()); }
  void start(TestProgram program) {
    open(program);
    expectOk(tp_transport_threads(artifact, &transport));
    expectOk(tp_rank_create(artifact, transport, 0, 1, nullptr, &ten));
    expectOk(tp_rank_entry(ten, "given", &given));
  }
  void TearDown() override {
    tp_rank_free(ten);
    tp_transport_free(transport);
    ArtifactTest::TearDown();
  }
  void restart(TestProgram program) {
    TearDown();
    start(std::move(program));
  }
  static void set(tp_rank *entry, int64_t argument, float value,
                  int64_t count) {
    float numbers[4] = {value, value, value, value};
    tp_tensor local = tensor(numbers, TP_F32, {count});
    expectOk(tp_rank_set_argument(entry, argument, &local));
  }
  static float get(tp_rank *entry, tp_port_side side, int64_t index) {
    float numbers[4] = {};
    tp_tensor local = tensor(numbers, TP_F32, {4});
    expectOk(tp_rank_get_tensor(entry, side, index, &local));
    EXPECT_EQ(numbers[0], numbers[3]);
    return numbers[0];
  }
  static tp_status *step(tp_rank *entry) {
    if (tp_status *status = tp_rank_submit(entry, nullptr))
      return status;
    return tp_rank_wait(entry);
  }

  tp_transport *transport = nullptr;
  tp_rank *ten = nullptr, *given = nullptr;
};

TEST_F(CApiEntriesTest, AnArtifactTellsItsEntries) {
  EXPECT_EQ(tp_artifact_num_entries(artifact), 2);
  EXPECT_STREQ(tp_artifact_entry_name(artifact, 0), "ten");
  EXPECT_STREQ(tp_artifact_entry_name(artifact, 1), "given");
  EXPECT_EQ(tp_artifact_entry_name(artifact, 2), nullptr);
  EXPECT_EQ(tp_artifact_entry_name(artifact, -1), nullptr);
  const tp_artifact *first = nullptr, *second = nullptr, *again = nullptr;
  expectOk(tp_artifact_entry(artifact, "ten", &first));
  expectOk(tp_artifact_entry(artifact, "given", &second));
  expectOk(tp_artifact_entry(second, "given", &again));
  EXPECT_EQ(first, artifact);
  EXPECT_EQ(second, again);
  EXPECT_EQ(tp_artifact_num_ports(first, TP_ARGUMENT), 1);
  EXPECT_EQ(tp_artifact_num_ports(second, TP_ARGUMENT), 3);
  EXPECT_STREQ(tp_artifact_port_name(second, TP_RESULT, 1), "sum");
  tp_port_info info = {};
  info.struct_size = sizeof(info);
  expectOk(tp_artifact_port_info(second, TP_RESULT, 0, &info));
  EXPECT_EQ(info.updates, 0);
}

TEST_F(CApiEntriesTest, WrongNamesAndHandles) {
  const tp_artifact *none = nullptr, *second = nullptr;
  expectCode(tp_artifact_entry(artifact, "Ten", &none), TP_INVALID_ARGUMENT,
             "there is no entry 'Ten': the artifact has 'ten', 'given'");
  expectCode(tp_artifact_entry(artifact, "", &none), TP_INVALID_ARGUMENT,
             "there is no entry ''");
  expectCode(tp_artifact_entry(nullptr, "ten", &none), TP_INVALID_ARGUMENT,
             "null");
  expectCode(tp_artifact_entry(artifact, nullptr, &none), TP_INVALID_ARGUMENT,
             "null");
  expectCode(tp_artifact_entry(artifact, "ten", nullptr), TP_INVALID_ARGUMENT,
             "null");
  EXPECT_EQ(none, nullptr);
  // A handle of an entry knows no others.
  expectOk(tp_artifact_entry(artifact, "given", &second));
  expectCode(tp_artifact_entry(second, "ten", &none), TP_INVALID_ARGUMENT,
             "expected the handle of tp_artifact_open, got one of entry "
             "'given'");
  tp_rank *rank = nullptr;
  expectCode(tp_rank_entry(ten, "decode", &rank), TP_INVALID_ARGUMENT,
             "there is no entry 'decode': the artifact has 'ten', 'given'");
  expectCode(tp_rank_entry(nullptr, "ten", &rank), TP_INVALID_ARGUMENT, "null");
  expectCode(tp_rank_entry(ten, nullptr, &rank), TP_INVALID_ARGUMENT, "null");
  expectCode(tp_rank_entry(ten, "given", nullptr), TP_INVALID_ARGUMENT, "null");
  expectCode(tp_rank_entry(given, "ten", &rank), TP_INVALID_ARGUMENT,
             "expected the handle of tp_rank_create, got one of entry 'given'");
  EXPECT_EQ(rank, nullptr);
  expectOk(tp_rank_entry(ten, "ten", &rank));
  EXPECT_EQ(rank, ten);
  expectOk(tp_rank_entry(ten, "given", &rank));
  EXPECT_EQ(rank, given);
}

/// What one sets and updates, the other reads, in place or by a copy.
TEST_F(CApiEntriesTest, OneStateOfBoth) {
  set(given, 0, 1, 4);
  set(given, 1, 5, 4);
  set(given, 2, 0, 1);
  expectOk(step(ten));
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 11);
  EXPECT_EQ(get(given, TP_ARGUMENT, 0), 11);
  expectOk(step(given));
  EXPECT_EQ(get(given, TP_RESULT, 1), 16);
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 16);
  expectOk(step(ten));
  EXPECT_EQ(get(ten, TP_RESULT, 0), 26);
  EXPECT_EQ(get(given, TP_RESULT, 1), 16) << "another entry's result";
}

TEST_F(CApiEntriesTest, InputsAreTheEntrysOwn) {
  set(ten, 0, 1, 4);
  expectOk(step(ten));
  expectCode(tp_rank_submit(given, nullptr), TP_INVALID_ARGUMENT,
             "argument 'x' was never set");
}

TEST_F(CApiEntriesTest, OneStepIsUnderWay) {
  set(ten, 0, 1, 4);
  set(given, 1, 0, 4);
  set(given, 2, 0, 1);
  expectOk(tp_rank_submit(ten, nullptr));
  expectCode(tp_rank_submit(given, nullptr), TP_INVALID_ARGUMENT,
             "a step is under way: wait for it first");
  expectCode(tp_rank_wait(given), TP_INVALID_ARGUMENT,
             "the step that was submitted is one of entry 'ten'");
  expectOk(tp_rank_wait(ten));
  expectOk(step(given));
}

/// A step that fails leaves what it copies at its end as it was, for all.
TEST_F(CApiEntriesTest, AFailedStepOfOne) {
  set(ten, 0, 1, 4);
  set(given, 1, 5, 4);
  set(given, 2, 1, 1);
  expectCode(step(given), TP_ASSERT, "too large");
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 1);
  expectOk(step(ten));
  EXPECT_EQ(get(given, TP_ARGUMENT, 0), 11);
}

/// What a failed step of one may have left half new, no entry reads.
TEST_F(CApiEntriesTest, WhatOneLosesIsLostForAll) {
  restart(programOfTwo(/*bothInPlace=*/true));
  set(ten, 0, 1, 4);
  set(given, 1, 5, 4);
  set(given, 2, 1, 1);
  expectCode(step(given), TP_ASSERT, "too large");
  expectCode(step(ten), TP_INVALID_ARGUMENT, "argument 's' is lost");
  set(ten, 0, 3, 4);
  set(given, 2, 0, 1);
  expectOk(step(given));
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 8);
}

/// What both have is in memory once, with the larger of both arenas.
TEST(RankMemoryTest, EntriesShareAllocations) {
  std::unique_ptr<Artifact> artifact = programOfTwo().open();
  ASSERT_TRUE(artifact);
  RankMemory ten(artifact->entries()[0]), given(artifact->entries()[1]);
  EXPECT_EQ(ten.arguments[0], given.arguments[0]);
  EXPECT_EQ(ten.results[0], ten.arguments[0]) << "updated in place";
  EXPECT_NE(given.results[0], given.arguments[0]);
  EXPECT_EQ(ten.arena, given.arena);
  EXPECT_EQ(ten.bytes, given.bytes);
  // s, x, bad, the results of "given", each rounded to 64 bytes, and the arena.
  EXPECT_EQ(ten.bytes, 5 * 64 + 4096);
}

} // namespace

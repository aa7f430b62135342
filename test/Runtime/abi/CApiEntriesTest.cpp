//===- CApiEntriesTest.cpp - several entries of one artifact --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntriesTest.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

using CApiEntriesTest = EntriesTest;

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

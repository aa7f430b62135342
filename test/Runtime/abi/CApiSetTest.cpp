//===- CApiSetTest.cpp - what sets an argument, and which one -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntriesTest.h"
#include <thread>

using namespace tp::test;

namespace {

using CApiSetTest = EntriesTest;

const char *const neverSet = "argument 's' was never set";
const char *const lost = "argument 's' is lost";

TEST_F(CApiSetTest, AViewSetsNothing) {
  float small[3] = {};
  tp_tensor view, wrong = tensor(small, TP_F32, {3});
  expectOk(tp_rank_argument(ten, 0, &view));
  expectCode(tp_scatter(artifact, TP_ARGUMENT, 0, 0, &wrong, &view),
             TP_INVALID_ARGUMENT, "expected f32[4], got f32[3]");
  expectCode(tp_rank_submit(ten, nullptr), TP_INVALID_ARGUMENT, neverSet);
  expectCode(tp_rank_set_argument(ten, 0, &view), TP_INVALID_ARGUMENT,
             "the local tensor of argument 's': it is the argument's own "
             "buffer, which the call does not set: argument 's' was never set");
  for (int i = 0; i < 4; ++i)
    static_cast<float *>(view.data)[i] = 3;
  expectOk(tp_rank_mark_set(given, 0));
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 3) << "by the other entry";
  expectOk(step(ten));
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 13);
}

TEST_F(CApiSetTest, AViewDoesNotRestoreALostState) {
  restart(programOfTwo(/*bothInPlace=*/true));
  tp_tensor before, view;
  expectOk(tp_rank_result(given, 0, &before));
  set(ten, 0, 1, 4);
  set(given, 1, 5, 4);
  set(given, 2, 1, 1);
  expectCode(step(given), TP_ASSERT, "too large");
  expectOk(tp_rank_argument(ten, 0, &view));
  for (tp_rank *entry : {ten, given}) {
    expectCode(tp_rank_submit(entry, nullptr), TP_INVALID_ARGUMENT, lost);
    // Nor does a host that feeds it back, though it is set.
    for (tp_tensor *fed : {&before, &view})
      expectCode(tp_rank_set_argument(entry, 0, fed), TP_INVALID_ARGUMENT,
                 lost);
  }
  float small[3] = {};
  tp_tensor wrong = tensor(small, TP_F32, {3});
  expectCode(tp_rank_scatter(ten, artifact, 0, &wrong), TP_INVALID_ARGUMENT,
             "argument 's': expected f32[4], got f32[3]");
  expectCode(tp_rank_submit(ten, nullptr), TP_INVALID_ARGUMENT, lost);
  for (int i = 0; i < 4; ++i)
    static_cast<float *>(view.data)[i] = 2;
  expectOk(tp_rank_mark_set(ten, 0));
  set(given, 2, 0, 1);
  expectOk(step(given));
  EXPECT_EQ(get(ten, TP_ARGUMENT, 0), 7);
}

/// A host of version 5 fed every state back; what is there already may be.
TEST_F(CApiSetTest, AStateMayBeFedBack) {
  set(ten, 0, 1, 4);
  tp_tensor view;
  expectOk(tp_rank_result(ten, 0, &view));
  for (int i = 1; i < 4; ++i) {
    expectOk(step(ten));
    expectOk(tp_rank_set_argument(ten, 0, &view));
    EXPECT_EQ(get(ten, TP_RESULT, 0), float(1 + 10 * i));
  }
  view.strides[0] = 2;
  expectCode(tp_rank_set_argument(ten, 0, &view), TP_INVALID_ARGUMENT,
             "it is the argument's own buffer in another order");
}

TEST_F(CApiSetTest, ViewMistakes) {
  expectCode(tp_rank_mark_set(nullptr, 0), TP_INVALID_ARGUMENT, "null");
  expectCode(tp_rank_mark_set(ten, 1), TP_INVALID_ARGUMENT,
             "no argument 1, there are 1");
}

/// 5 elements in chunks of 3 of 2 ranks.
class CApiWholeTest : public ArtifactTest {
protected:
  void SetUp() override {
    TestProgram program({{"tp", 2}});
    program.addArgument("a", "f32", 3);
    program.addResult("r", "f32", 3);
    for (const char *side : {"arguments", "results"})
      program.manifest[side][0]["shape"] = {5};
    program.addArgument("dead", "f32", 3);
    program.manifest["arguments"][1]["dead"] = true;
    program.addCollective("all_gather", "f32", "", program.addGroup({{0}, {1}}),
                          1, argumentBuffer(0), resultBuffer(0), 1, 3);
    open(program);
    expectOk(tp_transport_threads(artifact, &transport));
    for (int64_t r : {0, 1})
      expectOk(tp_rank_create(artifact, transport, r, 2, nullptr, &ranks[r]));
  }
  void TearDown() override {
    for (tp_rank *rank : ranks)
      tp_rank_free(rank);
    tp_transport_free(transport);
    ArtifactTest::TearDown();
  }
  tp_transport *transport = nullptr;
  tp_rank *ranks[2] = {};
};

/// From a whole array and back, with strides of the caller's.
TEST_F(CApiWholeTest, RanksCutAndJoin) {
  float from[10] = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0}, to[10] = {}, sums[5] = {};
  tp_tensor in = tensor(from, TP_F32, {5}), out = tensor(to, TP_F32, {5});
  in.strides[0] = out.strides[0] = 2;
  for (tp_rank *rank : ranks) {
    tp_tensor view;
    expectOk(tp_rank_argument(rank, 0, &view));
    static_cast<float *>(view.data)[2] = 7;
    expectOk(tp_rank_scatter(rank, artifact, 0, &in));
    EXPECT_EQ(static_cast<float *>(view.data)[2], rank == ranks[0] ? 3 : 7)
        << "padding is left alone";
    expectCode(tp_rank_assemble(rank, artifact, TP_RESULT, 0, &out),
               TP_INVALID_ARGUMENT, "has run, so results have no values");
    expectOk(tp_rank_assemble(rank, artifact, TP_ARGUMENT, 0, &out));
  }
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(to[i], from[i]);
  std::vector<std::thread> threads;
  tp_tensor whole = tensor(sums, TP_F32, {5});
  for (tp_rank *rank : ranks)
    threads.emplace_back([&, rank] {
      expectOk(tp_rank_submit(rank, nullptr));
      expectOk(tp_rank_wait(rank));
      expectOk(tp_rank_assemble(rank, artifact, TP_RESULT, 0, &whole));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(sums[i], float(i + 1));
}

TEST_F(CApiWholeTest, Mistakes) {
  float numbers[5] = {};
  tp_tensor whole = tensor(numbers, TP_F32, {5});
  auto refused = [&](tp_rank *rank, const tp_artifact *of, int64_t index,
                     const tp_tensor *global, tp_code code, const char *part) {
    expectCode(tp_rank_scatter(rank, of, index, global), code, part);
    expectCode(tp_rank_assemble(rank, of, TP_ARGUMENT, index, global), code,
               part);
  };
  refused(nullptr, artifact, 0, &whole, TP_INVALID_ARGUMENT, "null handle");
  refused(ranks[0], nullptr, 0, &whole, TP_INVALID_ARGUMENT, "null handle");
  refused(ranks[0], artifact, 0, nullptr, TP_INVALID_ARGUMENT,
          "argument 'a': null");
  refused(ranks[0], artifact, 2, &whole, TP_INVALID_ARGUMENT,
          "no argument 2, there are 2");
  refused(ranks[0], artifact, 1, &whole, TP_INVALID_ARGUMENT,
          "argument 'dead' is dead: it has no buffer");
  tp_tensor part = tensor(numbers, TP_F32, {3}), device = whole;
  refused(ranks[0], artifact, 0, &part, TP_INVALID_ARGUMENT,
          "argument 'a': expected f32[5], got f32[3]");
  device.memory_space = TP_DEVICE;
  refused(ranks[0], artifact, 0, &device, TP_UNSUPPORTED,
          "argument 'a': expected host memory");
  expectCode(tp_rank_assemble(ranks[0], artifact, TP_ARGUMENT, 0, &whole),
             TP_INVALID_ARGUMENT, "argument 'a' was never set");
  // Two handles of one file are handles of one artifact.
  tp_artifact *again = nullptr;
  expectOk(tp_artifact_open(folder.file("p.tp").c_str(), &again));
  expectOk(tp_rank_scatter(ranks[0], again, 0, &whole));
  tp_artifact_close(again);
  TestProgram other({{"tp", 2}});
  other.addArgument("a", "f32", 3);
  expectOk(
      tp_artifact_open(other.write(folder.file("other.tp")).c_str(), &again));
  refused(ranks[0], again, 0, &whole, TP_INVALID_ARGUMENT,
          "the rank was made of another artifact");
  tp_artifact_close(again);
}

} // namespace

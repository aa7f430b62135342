//===- CApiPartialTest.cpp - partial ports of the C ABI -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactTest.h"
#include <cmath>
#include <thread>

using namespace tp::test;

namespace {

/// r = a on 2 x 2 ranks: 5 elements in chunks of 3 along dp, partial along tp.
class CApiPartialTest : public ArtifactTest {
protected:
  void openCopy(const std::string &dtype, const std::string &reduction) {
    TestProgram program({{"dp", 2}, {"tp", 2}});
    program.addReplicated("arguments", "a", dtype, {5});
    program.addReplicated("results", "r", dtype, {5});
    for (const char *side : {"arguments", "results"})
      program.manifest[side][0]["layout"] = {{{"shard", 0}},
                                             {{"partial", reduction}}};
    program.addCollective("all_gather", dtype, "",
                          program.addGroup({{0}, {1}, {2}, {3}}), 1,
                          argumentBuffer(0), resultBuffer(0), 1, 3);
    open(program);
  }

  /// Of rank `r`, from the global array.
  std::vector<float> scattered(int64_t r, std::vector<float> global) {
    std::vector<float> local(3, 7);
    tp_tensor whole = tensor(global.data(), TP_F32, {5});
    tp_tensor part = tensor(local.data(), TP_F32, {3});
    expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, r, &whole, &part));
    return local;
  }

  /// From the ranks' tensors of the result.
  std::vector<float> assembled(std::vector<std::vector<float>> locals) {
    std::vector<float> global(5, 7);
    tp_tensor whole = tensor(global.data(), TP_F32, {5});
    std::vector<tp_tensor> parts(locals.size());
    for (size_t rank = 0; rank < locals.size(); ++rank)
      parts[rank] = tensor(locals[rank].data(), TP_F32, {3});
    expectOk(tp_assemble_all(artifact, TP_RESULT, 0, int64_t(parts.size()),
                             parts.data(), &whole));
    return global;
  }
};

const std::vector<float> numbers = {1, -0.0f, 3, 4, 5};

TEST_F(CApiPartialTest, TheFirstRankOfASumGetsTheElements) {
  openCopy("f32", "sum");
  EXPECT_EQ(scattered(0, numbers), (std::vector<float>{1, -0.0f, 3}));
  // Padding is left alone.
  EXPECT_EQ(scattered(2, numbers), (std::vector<float>{4, 5, 7}));
  std::vector<float> first = scattered(1, numbers);
  EXPECT_EQ(first, (std::vector<float>{0, 0, 0}));
  for (float number : first)
    EXPECT_TRUE(std::signbit(number));
  EXPECT_EQ(scattered(3, numbers), (std::vector<float>{-0.0f, -0.0f, 7}));
  std::vector<float> back =
      assembled({scattered(0, numbers), scattered(1, numbers),
                 scattered(2, numbers), scattered(3, numbers)});
  EXPECT_EQ(back, numbers);
  EXPECT_TRUE(std::signbit(back[1]));
}

TEST_F(CApiPartialTest, EveryRankHasItsAddend) {
  openCopy("f32", "sum");
  std::vector<std::vector<float>> addends = {
      {1, 2, 3}, {10, 20, 30}, {4, 5, NAN}, {40, 50, NAN}};
  std::vector<std::vector<float>> results = addends;
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  std::vector<std::thread> ranks;
  ranks.reserve(4);
  for (int64_t r = 0; r < 4; ++r)
    ranks.emplace_back([&, r] {
      tp_rank *rank = nullptr;
      expectOk(tp_rank_create(artifact, transport, r, 4, nullptr, &rank));
      tp_tensor local = tensor(addends[r].data(), TP_F32, {3});
      expectOk(tp_rank_set_argument(rank, 0, &local));
      expectOk(tp_rank_submit(rank, nullptr));
      expectOk(tp_rank_wait(rank));
      tp_tensor result = tensor(results[r].data(), TP_F32, {3});
      expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &result));
      float global[5] = {};
      tp_tensor whole = tensor(global, TP_F32, {5});
      expectCode(tp_rank_assemble(rank, artifact, TP_RESULT, 0, &whole),
                 TP_INVALID_ARGUMENT, "join them with tp_assemble_all");
      expectOk(tp_rank_finish(rank));
      tp_rank_free(rank);
    });
  for (std::thread &rank : ranks)
    rank.join();
  tp_transport_free(transport);
  for (int64_t r = 0; r < 4; ++r)
    for (int i = 0; i < (r < 2 ? 3 : 2); ++i)
      EXPECT_EQ(results[r][i], addends[r][i]);
  EXPECT_EQ(assembled(results), (std::vector<float>{11, 22, 33, 44, 55}));
}

TEST_F(CApiPartialTest, OtherReductions) {
  openCopy("f32", "product");
  EXPECT_EQ(scattered(3, numbers), (std::vector<float>{1, 1, 7}));
  EXPECT_EQ(assembled({{2, 3, 4}, {5, 6, 7}, {8, 9, 7}, {1, 2, 7}}),
            (std::vector<float>{10, 18, 28, 8, 18}));
  for (const char *reduction : {"avg", "max", "min"}) {
    openCopy("f32", reduction);
    EXPECT_EQ(scattered(1, numbers), scattered(0, numbers)) << reduction;
  }
  EXPECT_EQ(assembled({{2, 3, 4}, {5, 1, 7}, {8, 9, 7}, {1, 2, 7}}),
            (std::vector<float>{2, 1, 4, 1, 2}));
}

TEST_F(CApiPartialTest, Mistakes) {
  openCopy("f32", "sum");
  std::vector<float> local(3), global(5);
  tp_tensor part = tensor(local.data(), TP_F32, {3});
  tp_tensor whole = tensor(global.data(), TP_F32, {5});
  expectCode(tp_assemble(artifact, TP_RESULT, 0, 1, &part, &whole),
             TP_INVALID_ARGUMENT,
             "'r' is partial<sum>: the parts of all ranks make the global "
             "array together, join them with tp_assemble_all");
  tp_tensor parts[] = {part, part, part, part};
  expectCode(tp_assemble_all(artifact, TP_RESULT, 0, 2, parts, &whole),
             TP_INVALID_ARGUMENT,
             "expected a local tensor for each of 4 ranks, got 2");
  parts[3] = whole;
  expectCode(
      tp_assemble_all(artifact, TP_RESULT, 0, 4, parts, &whole),
      TP_INVALID_ARGUMENT,
      "rank 3: the local tensor of result 'r': expected f32[3], got f32[5]");
  expectCode(tp_assemble_all(artifact, TP_RESULT, 0, 4, nullptr, &whole),
             TP_INVALID_ARGUMENT, "null handle or tensors");
}

} // namespace

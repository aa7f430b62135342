//===- CApiTransportTest.cpp - which ranks a transport takes --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbiCalls.h"
#include "TestProgram.h"
#include <numeric>
#include <thread>

using namespace tp::test;

namespace {

/// The artifact of r = all_reduce(a), f32 of `elements` each.
tp_artifact *openSum(const std::string &path, int64_t elements,
                     int64_t ranks = 2) {
  TestProgram program({{"tp", ranks}});
  program.addArgument("a", "f32", elements);
  program.addResult("r", "f32", elements);
  std::vector<int64_t> all(ranks);
  std::iota(all.begin(), all.end(), int64_t(0));
  program.addCollective("all_reduce", "f32", "sum", program.addGroup({all}),
                        ranks, argumentBuffer(0), resultBuffer(0), 1, elements);
  tp_artifact *artifact = nullptr;
  expectOk(tp_artifact_open(program.write(path).c_str(), &artifact));
  return artifact;
}

/// What a rank of another artifact, a second rank of one number and options
/// without a size would do: wrong numbers, ranks that wait for ever, and
/// options that do not count.
TEST(CApiTransportTest, RanksBelongToTheirTransport) {
  TemporaryFolder folder;
  tp_artifact *artifact = openSum(folder.file("p.tp"), 3);
  tp_artifact *other = openSum(folder.file("other.tp"), 4);
  tp_transport *transport = nullptr;
  tp_rank *rank = nullptr, *refused = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  expectCode(tp_rank_create(other, transport, 0, 2, nullptr, &refused),
             TP_INVALID_ARGUMENT,
             "the transport was made for another artifact: expected one made "
             "for the rank's");
  expectOk(tp_rank_create(artifact, transport, 0, 2, nullptr, &rank));
  expectCode(tp_rank_create(artifact, transport, 0, 2, nullptr, &refused),
             TP_INVALID_ARGUMENT,
             "rank 0 is there already: expected each rank of a transport to be "
             "made once");
  tp_rank_free(rank);
  tp_rank_options options = {};
  options.timeout_seconds = 300;
  expectCode(tp_rank_create(artifact, transport, 0, 2, &options, &refused),
             TP_INVALID_ARGUMENT,
             "struct_size is 0, expected the sizeof of the struct");
  tp_store_options store = {};
  tp_transport *unmade = nullptr;
  expectCode(tp_transport_store(artifact, 0, 2, &store, &unmade),
             TP_INVALID_ARGUMENT, "struct_size is 0");
  options.struct_size = sizeof(options);
  expectOk(tp_rank_create(artifact, transport, 0, 2, &options, &rank));
  float result[3] = {};
  tp_tensor local = tensor(result, TP_F32, {3});
  expectCode(tp_rank_get_tensor(rank, TP_RESULT, 0, &local),
             TP_INVALID_ARGUMENT,
             "no step of entry 'main' has run, so results have no values");
  tp_rank_free(rank);
  tp_transport_free(transport);
  tp_artifact_close(other);
  tp_artifact_close(artifact);
}

/// Segments of one size, of two programs: the ranks would run different ones.
TEST(CApiTransportTest, ProcessesAttachWithTheirArtifact) {
  TemporaryFolder folder;
  tp_artifact *artifact = openSum(folder.file("p.tp"), 3);
  tp_artifact *again = openSum(folder.file("again.tp"), 3);
  tp_artifact *other = openSum(folder.file("other.tp"), 4);
  tp_transport *transport = nullptr, *attached = nullptr, *refused = nullptr;
  int descriptor = -1;
  expectOk(tp_transport_processes(artifact, &transport, &descriptor));
  expectCode(tp_transport_attach(other, descriptor, &refused),
             TP_INVALID_ARGUMENT,
             "the shared memory was made for another artifact");
  EXPECT_EQ(refused, nullptr);
  expectOk(tp_transport_attach(again, descriptor, &attached));
  tp_transport_free(attached);
  tp_transport_free(transport);
  for (tp_artifact *each : {artifact, again, other})
    tp_artifact_close(each);
}

tp_rank *createSet(tp_artifact *artifact, tp_transport *transport,
                   int64_t number, int64_t size) {
  tp_rank *rank = nullptr;
  expectOk(tp_rank_create(artifact, transport, number, size, nullptr, &rank));
  expectOk(tp_rank_mark_set(rank, 0));
  return rank;
}

/// Nothing begins after an abort, though no rank keeps another waiting.
void expectStopped(tp_rank *rank) {
  expectOk(tp_rank_submit(rank, nullptr));
  expectCode(tp_rank_wait(rank), TP_RANK_FAILED, "the host ends");
  expectCode(tp_rank_barrier(rank), TP_RANK_FAILED, "the host ends");
  expectCode(tp_rank_finish(rank), TP_RANK_FAILED, "the host ends");
}

TEST(CApiTransportTest, AnAbortEndsRanksThatComeLater) {
  TemporaryFolder folder;
  tp_artifact *artifact = openSum(folder.file("p.tp"), 3);
  tp_transport *transport = nullptr;
  expectOk(tp_transport_threads(artifact, &transport));
  tp_transport_abort(transport, 0, "the host ends");
  tp_transport_abort(transport, 1, "a second message");
  std::vector<std::thread> ranks;
  for (int64_t number : {0, 1})
    ranks.emplace_back([=] {
      tp_rank *rank = createSet(artifact, transport, number, 2);
      expectStopped(rank);
      tp_rank_free(rank);
    });
  for (std::thread &rank : ranks)
    rank.join();
  tp_transport_free(transport);
  tp_artifact_close(artifact);
}

/// A step that waits for nobody before its end does not begin.
TEST(CApiTransportTest, NoKernelRunsAfterAnAbort) {
  TemporaryFolder folder;
  TestProgram program({{"tp", 1}});
  program.addArgument("a", "f32", 64);
  program.addResult("r", "f32", 64);
  program.addKernel("scale", {argumentBuffer(0), resultBuffer(0)});
  tp_artifact *artifact = nullptr;
  tp_transport *transport = nullptr;
  expectOk(
      tp_artifact_open(program.write(folder.file("p.tp")).c_str(), &artifact));
  expectOk(tp_transport_threads(artifact, &transport));
  tp_rank *rank = createSet(artifact, transport, 0, 1);
  tp_tensor in, out;
  expectOk(tp_rank_argument(rank, 0, &in));
  expectOk(tp_rank_result(rank, 0, &out));
  auto *from = static_cast<float *>(in.data);
  const auto *to = static_cast<const float *>(out.data);
  *from = 3;
  // Where a rank is, as much of it as there is room for.
  char text[32];
  EXPECT_EQ(tp_transport_describe(transport, artifact, 0, text, 8), 20);
  EXPECT_STREQ(text, "the sta");
  EXPECT_EQ(tp_transport_describe(transport, artifact, 0, nullptr, 0), 20);
  EXPECT_EQ(tp_transport_describe(transport, artifact, 1, text, 8), 0);
  EXPECT_STREQ(text, "");
  expectOk(tp_rank_submit(rank, nullptr));
  expectOk(tp_rank_wait(rank));
  EXPECT_EQ(tp_transport_describe(transport, artifact, 0, text, 32), 19);
  EXPECT_STREQ(text, "the end of the step");
  EXPECT_EQ(*to, 6);
  *from = 4;
  tp_transport_abort(transport, 0, "the host ends");
  expectStopped(rank);
  EXPECT_EQ(*to, 6);
  tp_rank_free(rank);
  tp_transport_free(transport);
  tp_artifact_close(artifact);
}

/// The parent of processes, and a rank of a folder's, between two steps.
TEST(CApiTransportTest, AnAbortEndsStepsOfProcesses) {
  TemporaryFolder folder;
  tp_artifact *artifact = openSum(folder.file("p.tp"), 3, 1);
  tp_transport *parent = nullptr, *child = nullptr, *alone = nullptr;
  int descriptor = -1;
  expectOk(tp_transport_processes(artifact, &parent, &descriptor));
  expectOk(tp_transport_attach(artifact, descriptor, &child));
  std::string place = folder.file("");
  tp_store_options options = {};
  options.struct_size = sizeof(options);
  options.address = place.c_str();
  expectOk(tp_transport_store(artifact, 0, 1, &options, &alone));
  for (auto [used, aborted] :
       {std::pair(child, parent), std::pair(alone, alone)}) {
    tp_rank *rank = createSet(artifact, used, 0, 1);
    expectOk(tp_rank_barrier(rank));
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
    tp_transport_abort(aborted, 0, "the host ends");
    expectStopped(rank);
    tp_rank_free(rank);
  }
  for (tp_transport *each : {child, parent, alone})
    tp_transport_free(each);
  tp_artifact_close(artifact);
}

} // namespace

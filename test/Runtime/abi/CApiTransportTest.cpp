//===- CApiTransportTest.cpp - which ranks a transport takes --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbiCalls.h"
#include "TestProgram.h"

using namespace tp::test;

namespace {

/// The artifact of r = all_reduce(a) on 2 ranks, f32 of `elements` each.
tp_artifact *openSum(const std::string &path, int64_t elements) {
  TestProgram program({{"tp", 2}});
  program.addArgument("a", "f32", elements);
  program.addResult("r", "f32", elements);
  program.addCollective("all_reduce", "f32", "sum", program.addGroup({{0, 1}}),
                        2, argumentBuffer(0), resultBuffer(0), 1, elements);
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
             TP_INVALID_ARGUMENT, "no step has run, so results have no values");
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

} // namespace

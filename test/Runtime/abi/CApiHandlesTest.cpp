//===- CApiHandlesTest.cpp - handles of two entries in one call -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntriesTest.h"

using namespace tp::test;

namespace {

/// "one" has r = x + c, "two" r = y + c; both have a weight "w". All are of
/// f32[4]: only the handles tell which tensor an index is.
class CApiHandlesTest : public ArtifactTest {
protected:
  void SetUp() override {
    auto make = [](const char *name, std::vector<const char *> arguments) {
      TestProgram program({{"tp", 1}});
      program.manifest["name"] = name;
      program.setConstants({10, 10, 10, 10});
      for (const char *argument : arguments) {
        int64_t index = program.addArgument(argument, "f32", 4);
        if (argument == std::string("w"))
          program.manifest["arguments"][index]["kind"] = "parameter";
      }
      program.addResult("r", "f32", 4);
      for (size_t i = 0; i < arguments.size(); ++i)
        program.addKernel("add_constant", {argumentBuffer(int64_t(i)),
                                           constantBuffer(0), resultBuffer(0)});
      return program;
    };
    TestProgram program = make("one", {"w", "x"});
    program.addEntry(make("two", {"y", "w"}));
    open(program);
    expectOk(tp_transport_threads(artifact, &transport));
    expectOk(tp_artifact_entry(artifact, "two", &portsOfTwo));
    expectOk(tp_rank_create(artifact, transport, 0, 1, nullptr, &one));
    expectOk(tp_rank_entry(one, "two", &two));
  }
  void TearDown() override {
    tp_rank_free(one);
    tp_transport_free(transport);
    ArtifactTest::TearDown();
  }

  tp_transport *transport = nullptr;
  const tp_artifact *portsOfTwo = nullptr;
  tp_rank *one = nullptr, *two = nullptr;
  float numbers[4] = {1, 2, 3, 4};
  tp_tensor whole = tensor(numbers, TP_F32, {4});
};

TEST_F(CApiHandlesTest, WholeArrays) {
  const char *mixed = "the artifact's handle is of entry 'two' and the rank's "
                      "of entry 'one': expected handles of one entry, as "
                      "tp_artifact_entry and tp_rank_entry give";
  expectCode(tp_rank_scatter(one, portsOfTwo, 0, &whole), TP_INVALID_ARGUMENT,
             mixed);
  expectCode(tp_rank_assemble(one, portsOfTwo, TP_RESULT, 0, &whole),
             TP_INVALID_ARGUMENT, mixed);
  expectCode(tp_rank_scatter(two, artifact, 0, &whole), TP_INVALID_ARGUMENT,
             "of entry 'one' and the rank's of entry 'two'");
  expectOk(tp_rank_scatter(one, artifact, 0, &whole));
  expectOk(tp_rank_scatter(two, portsOfTwo, 0, &whole));
  // What both have is set by either.
  numbers[0] = 9;
  expectOk(tp_rank_scatter(two, portsOfTwo, 1, &whole));
  numbers[0] = 1;
  expectOk(tp_rank_assemble(one, artifact, TP_ARGUMENT, 0, &whole));
  EXPECT_EQ(numbers[0], 9);
}

TEST_F(CApiHandlesTest, Views) {
  tp_tensor w, x, y, wOfTwo, r;
  expectOk(tp_rank_argument(one, 0, &w));
  expectOk(tp_rank_argument(one, 1, &x));
  expectOk(tp_rank_argument(two, 0, &y));
  expectOk(tp_rank_argument(two, 1, &wOfTwo));
  expectOk(tp_rank_result(two, 0, &r));
  expectCode(tp_scatter(artifact, TP_ARGUMENT, 0, 0, &whole, &y),
             TP_INVALID_ARGUMENT,
             "the local tensor of argument 'w': expected a view of argument "
             "'w' of entry 'one' or memory of the caller, got a rank's view "
             "of argument 'y' of entry 'two': the handles of artifact and rank "
             "have to be of one entry");
  expectCode(tp_scatter(portsOfTwo, TP_ARGUMENT, 1, 0, &whole, &x),
             TP_INVALID_ARGUMENT, "of argument 'x' of entry 'one'");
  EXPECT_EQ(static_cast<float *>(x.data)[0], 0);
  EXPECT_EQ(static_cast<float *>(y.data)[0], 0);
  expectCode(tp_assemble(artifact, TP_RESULT, 0, 0, &r, &whole),
             TP_INVALID_ARGUMENT, "of result 'r' of entry 'two'");
  expectCode(tp_assemble_all(artifact, TP_RESULT, 0, 1, &r, &whole),
             TP_INVALID_ARGUMENT,
             "rank 0: the local tensor of result 'r': expected a view of "
             "result 'r' of entry 'one'");
  EXPECT_EQ(numbers[3], 4);
  expectOk(tp_scatter(artifact, TP_ARGUMENT, 1, 0, &whole, &x));
  expectOk(tp_scatter(portsOfTwo, TP_ARGUMENT, 0, 0, &whole, &y));
  // The weight is one tensor, by whichever handles.
  expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, 0, &whole, &wOfTwo));
  expectOk(tp_scatter(portsOfTwo, TP_ARGUMENT, 1, 0, &whole, &w));
  expectOk(tp_assemble(portsOfTwo, TP_RESULT, 0, 0, &r, &whole));
  // Of a rank that is gone there are no views; the memory is the transport's.
  tp_rank_free(std::exchange(one, nullptr));
  expectOk(tp_scatter(artifact, TP_ARGUMENT, 0, 0, &whole, &y));
}

TEST_F(CApiHandlesTest, ARankIsMadeOfTheArtifact) {
  tp_rank_free(std::exchange(one, nullptr));
  expectCode(tp_rank_create(portsOfTwo, transport, 0, 1, nullptr, &one),
             TP_INVALID_ARGUMENT,
             "expected the handle of tp_artifact_open, got one of entry 'two': "
             "ask the rank for this entry, by tp_rank_entry");
  EXPECT_EQ(one, nullptr);
}

} // namespace

//===- EntriesTest.h - tests of a rank with two entries ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_ABI_ENTRIESTEST_H
#define TP_TEST_RUNTIME_ABI_ENTRIESTEST_H

#include "ArtifactTest.h"

namespace tp::test {

/// Both entries add to the buffer "s": "ten" 10, in place, "given" its input
/// "x", by a copy or in place. "given" fails where its input "bad" is not 0; it
/// has a larger arena and a result of its own.
inline TestProgram programOfTwo(bool bothInPlace = false) {
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

class EntriesTest : public ArtifactTest {
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

} // namespace tp::test

#endif // TP_TEST_RUNTIME_ABI_ENTRIESTEST_H

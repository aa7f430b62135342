//===- CudaAbiStateTest.cpp - states on a device through the C ABI --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaAbi.h"

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// The state "s" is doubled by every step, which fails where "bad" is above 0.
class CudaAbiStateTest : public CudaAbiTest {
protected:
  void start(bool inPlace) {
    CudaProgram program({{"tp", 1}});
    program.manifest["asserts"] = {{{"id", 7}, {"message", "too large"}}};
    program.addArgument("bad", "f32", 64);
    program.addArgument("s", "f32", 64);
    program.addNext("s", "f32", 64, inPlace);
    program.addLaunch(
        "scale",
        {argumentBuffer(1), inPlace ? argumentBuffer(1) : resultBuffer(0)}, 64);
    program.addLaunch("check_small", {argumentBuffer(0)}, 64);
    create(defaults(), program);
    set(0, 0);
    set(1, 3);
  }
  void set(int64_t argument, float value) {
    std::vector<float> numbers(64, value);
    tp_tensor local = tensor(numbers.data(), TP_F32, {64});
    expectOk(tp_rank_set_argument(rank, argument, &local));
  }
  void expectState(float value) {
    for (tp_port_side side : {TP_ARGUMENT, TP_RESULT}) {
      std::vector<float> numbers(64);
      tp_tensor local = tensor(numbers.data(), TP_F32, {64});
      expectOk(tp_rank_get_tensor(rank, side, side == TP_ARGUMENT, &local));
      EXPECT_EQ(numbers, std::vector<float>(64, value)) << side;
    }
    tp_tensor state, next;
    expectOk(tp_rank_argument(rank, 1, &state));
    expectOk(tp_rank_result(rank, 0, &next));
    EXPECT_EQ(state.data, next.data);
  }
  tp_status *step() {
    if (tp_status *status = tp_rank_submit(rank, nullptr))
      return status;
    return tp_rank_wait(rank);
  }
};

TEST_F(CudaAbiStateTest, AResultIsTheStateAsItIsNow) {
  for (bool inPlace : {false, true}) {
    SCOPED_TRACE(inPlace);
    start(inPlace);
    expectOk(step());
    expectOk(step());
    expectState(12);
    set(1, 5);
    expectState(5);
    set(0, 1);
    expectCode(step(), TP_ASSERT, "too large");
    if (!inPlace) {
      expectState(5);
    } else {
      std::vector<float> numbers(64);
      tp_tensor local = tensor(numbers.data(), TP_F32, {64});
      expectCode(tp_rank_get_tensor(rank, TP_RESULT, 0, &local),
                 TP_INVALID_ARGUMENT, "argument 's' is lost");
      expectCode(tp_rank_result(rank, 0, &local), TP_INVALID_ARGUMENT,
                 "argument 's' is lost");
      // Nor by its view.
      expectOk(tp_rank_argument(rank, 1, &local));
      expectCode(tp_rank_set_argument(rank, 1, &local), TP_INVALID_ARGUMENT,
                 "argument 's' is lost");
      expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
                 "argument 's' is lost");
      tp_tensor whole = tensor(numbers.data(), TP_F32, {64});
      expectOk(tp_rank_scatter(rank, artifact, 1, &whole));
      expectState(0);
    }
    free();
    tp_artifact_close(std::exchange(artifact, nullptr));
  }
}

} // namespace

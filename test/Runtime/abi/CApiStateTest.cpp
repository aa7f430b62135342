//===- CApiStateTest.cpp - what results that update an argument read ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Such a result is the state, whichever entry computed it and whether it is
// copied or in place.
//
//===----------------------------------------------------------------------===//

#include "EntriesTest.h"

using namespace tp::test;

namespace {

class CApiStateTest : public EntriesTest {
protected:
  /// The state "s" as each result, each argument and each view has it.
  void expectState(float value) {
    for (tp_rank *entry : {ten, given}) {
      SCOPED_TRACE(entry == ten ? "ten" : "given");
      tp_tensor view;
      EXPECT_EQ(get(entry, TP_ARGUMENT, 0), value);
      EXPECT_EQ(get(entry, TP_RESULT, 0), value);
      expectOk(tp_rank_result(entry, 0, &view));
      EXPECT_EQ(*static_cast<float *>(view.data), value);
    }
  }
  void setAll(float state) {
    set(ten, 0, state, 4);
    set(given, 1, 5, 4);
    set(given, 2, 0, 1);
  }
};

/// A prefill and its decode steps: the prefill's result goes on as they do.
TEST_F(CApiStateTest, AResultIsTheStateAsItIsNow) {
  for (bool bothInPlace : {false, true}) {
    SCOPED_TRACE(bothInPlace);
    restart(programOfTwo(bothInPlace));
    setAll(1);
    tp_tensor before;
    expectOk(tp_rank_result(given, 0, &before));
    expectOk(step(given));
    expectState(6);
    for (int i = 0; i < 20; ++i)
      expectOk(step(ten));
    expectState(206);
    EXPECT_EQ(*static_cast<float *>(before.data), 206) << "an older view";
    EXPECT_EQ(get(given, TP_RESULT, 1), 6) << "a result that updates nothing";
    // What the host sets is the state too.
    set(ten, 0, 3, 4);
    expectState(3);
  }
}

/// Of an entry that has not run too, where another one has, or the host.
TEST_F(CApiStateTest, AStateNeedsNoStep) {
  float numbers[4] = {};
  tp_tensor local = tensor(numbers, TP_F32, {4});
  for (tp_rank *entry : {ten, given})
    expectCode(tp_rank_get_tensor(entry, TP_RESULT, 0, &local),
               TP_INVALID_ARGUMENT, "argument 's' was never set");
  expectCode(tp_rank_get_tensor(given, TP_RESULT, 1, &local),
             TP_INVALID_ARGUMENT,
             "no step of entry 'given' has run, so results have no values: "
             "call tp_rank_submit and tp_rank_wait before");
  setAll(1);
  expectState(1);
  expectOk(step(ten));
  expectState(11);
  expectCode(tp_rank_get_tensor(given, TP_RESULT, 1, &local),
             TP_INVALID_ARGUMENT, "no step of entry 'given' has run");
}

/// What such a step computed is no state; other results have it.
TEST_F(CApiStateTest, AFailedStepLeavesTheOldState) {
  setAll(1);
  expectOk(step(given));
  expectOk(step(ten));
  set(given, 2, 1, 1);
  expectCode(step(given), TP_ASSERT, "too large");
  expectState(16);
  EXPECT_EQ(get(given, TP_RESULT, 1), 21) << "the step ran to its end";
}

TEST_F(CApiStateTest, ALostStateIsNotRead) {
  restart(programOfTwo(/*bothInPlace=*/true));
  setAll(1);
  expectOk(step(given));
  set(given, 2, 1, 1);
  expectCode(step(given), TP_ASSERT, "too large");
  const char *lost =
      "argument 's' is lost: a step that updates it in place has failed; set "
      "it again before the next step";
  float numbers[4] = {};
  tp_tensor local = tensor(numbers, TP_F32, {4}), view;
  for (tp_rank *entry : {ten, given}) {
    for (tp_port_side side : {TP_ARGUMENT, TP_RESULT})
      expectCode(tp_rank_get_tensor(entry, side, 0, &local),
                 TP_INVALID_ARGUMENT, lost);
    expectCode(tp_rank_result(entry, 0, &view), TP_INVALID_ARGUMENT, lost);
  }
  set(ten, 0, 7, 4);
  expectState(7);
}

} // namespace

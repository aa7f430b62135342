//===- TpRunFaultTest.cpp - runs of the tool in which ranks fail ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patience.h"
#include "TpRunTest.h"
#include <filesystem>

using namespace tp::test;

namespace {

/// The run ends soon, says who and where, and leaves no file.
TEST_F(TpRunTest, RanksThatDieOrHang) {
  for (std::string mode : {"threads", "processes"})
    for (std::string fault : {"die@1:1", "die@0:0", "hang@1:1", "hang@0:0"}) {
      bool dies = fault[0] == 'd';
      std::string rank =
          dies ? "rank " + fault.substr(4, 1)
               : "1 of 2 ranks that did not join: rank " + fault.substr(5, 1);
      std::string where = fault.back() == '1'
                              ? "all_reduce 'all_reduce_0' of module 'layer.0'"
                              : "gemm 'linear' of module 'm'";
      for (double seconds : timeouts) {
        std::string arguments = good + "--output=y=@out.npy --timeout=" +
                                secondsText(dies ? neverSeconds : seconds) +
                                " --transport=" + mode +
                                " --inject-fault=" + fault;
        SCOPED_TRACE(arguments);
        Outcome outcome = run(arguments);
        if (!dies && firedElsewhere(outcome.err, {rank, where}, seconds))
          continue;
        expectFailed(outcome, rank, where);
        break;
      }
      EXPECT_FALSE(std::filesystem::exists(folder.file("out.npy")));
    }
  expectFailure(good + "--transport=processes --inject-fault=die@1:1",
                "rank 1 was killed by signal 9 (Killed) in command 1");
}

/// A kernel that crashes is named in both modes.
TEST_F(TpRunTest, KernelsThatCrash) {
  TestProgram program({{"tp", 2}});
  program.addKernel("crash_on_rank_1", {});
  program.write(folder.file("crash.tp"));
  for (std::string mode : {"threads", "processes"}) {
    Outcome outcome = run("crash.tp --transport=" + mode);
    EXPECT_NE(outcome.exitStatus, 0);
    EXPECT_NE(outcome.err.find("tp-run: error: rank 1 was "), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("by signal 4 (Illegal instruction) in command "
                               "0, kernel crash_on_rank_1"),
              std::string::npos)
        << outcome.err;
  }
}

} // namespace

//===- HostTest.h - runs that the host disturbs -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_TP_RUN_HOSTTEST_H
#define TP_TEST_RUNTIME_TP_RUN_HOSTTEST_H

#include "ToolRun.h"

namespace tp::test {

/// The values of --transport.
inline const std::vector<std::string> modes = {"threads", "processes"};

/// Runs of one artifact in which ranks exchange by every collective.
class HostTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    everyCollective().write(artifact());
    ToolRun right({artifact(), "--random-data=1", "--output=y=@y.npy"});
    right.run();
    ASSERT_EQ(right.exitStatus(), 0) << right.err;
    result = readFile(right.file("y.npy"));
    ASSERT_NE(result, "");
  }
  static void TearDownTestSuite() { delete folder; }

  static std::string artifact() { return folder->file("m.tp"); }
  static std::vector<std::string> words(const std::string &mode,
                                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), {artifact(), "--random-data=1",
                               "--output=y=@y.npy", "--transport=" + mode});
    return more;
  }
  static void expectRight(ToolRun &run) {
    EXPECT_EQ(run.exitStatus(), 0) << run.err;
    EXPECT_EQ(readFile(run.file("y.npy")), result);
    run.expectNothingLeft({"y.npy"});
  }
  /// Runs the lines with $tp_run and $artifact set.
  static std::vector<std::string> shell(const std::string &lines) {
    return {"-c", "tp_run=" TP_RUN "; artifact=" + artifact() + "; " + lines};
  }

  static inline TemporaryFolder *folder = nullptr;
  static inline std::string result;
};

} // namespace tp::test

#endif // TP_TEST_RUNTIME_TP_RUN_HOSTTEST_H

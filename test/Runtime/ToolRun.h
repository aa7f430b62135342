//===- ToolRun.h - tp-run as a process that tests watch ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_TOOLRUN_H
#define TP_TEST_RUNTIME_TOOLRUN_H

#include "Patience.h"
#include "TestProgram.h"
#include <functional>
#include <set>
#include <sys/types.h>

namespace tp::test {

/// One start of tp-run in a folder of its own. Several may run at once.
class ToolRun {
public:
  explicit ToolRun(std::vector<std::string> arguments,
                   const std::string &program = TP_RUN);
  /// Kills what is left.
  ~ToolRun();
  ToolRun(const ToolRun &) = delete;

  std::string file(const std::string &name) const { return folder.file(name); }

  /// Called in the child before tp-run starts: limits, closed streams. Only
  /// async-signal-safe calls.
  std::function<void()> before;

  void start();
  pid_t process() const { return child; }
  /// The processes of ranks, by number, as soon as all `ranks` of them exist.
  std::vector<pid_t> rankProcesses(size_t ranks) const;
  /// Waits for the end with patience; then it fails and kills the run.
  void finish();
  void run() {
    start();
    finish();
  }

  /// Of waitpid.
  int waitStatus = 0;
  bool timedOut = false;
  /// Exit status, or -1 after a signal.
  int exitStatus() const;
  std::string out, err;

  /// Fails unless the run ended with exit status 1 and one line on stderr that
  /// holds all `parts`, and has left nothing: no file but `files`, no process.
  void expectError(const std::vector<std::string> &parts,
                   std::set<std::string> files = {});
  /// Waits until every process of the run has ended, also those that have lost
  /// their parent.
  void awaitOrphans();
  /// Fails if there are other files, or processes of ranks.
  void expectNothingLeft(std::set<std::string> files = {});

private:
  std::vector<std::string> arguments;
  TemporaryFolder folder;
  pid_t child = -1;
};

/// Calls body(0) to body(count - 1) in a few threads: runs that mostly wait.
void inParallel(size_t count, const std::function<void(size_t)> &body);

/// Three ranks; ten collectives on all of them, every kind, small (sent inside
/// the segment) and large (read in place); command i is collective i. Then a
/// gemm, as command 10, and an all_reduce to the result "y".
TestProgram everyCollective();
inline constexpr int64_t everyCollectiveCommands = 12;

} // namespace tp::test

#endif // TP_TEST_RUNTIME_TOOLRUN_H

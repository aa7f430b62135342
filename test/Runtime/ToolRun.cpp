//===- ToolRun.cpp - tp-run as a process that tests watch -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolRun.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

ToolRun::ToolRun(std::vector<std::string> words, const std::string &program)
    : arguments(std::move(words)) {
  arguments.insert(arguments.begin(), program);
  std::filesystem::create_directory(file("tmp"));
  // Orphans come to this process, which can then say that there are some.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ToolRun::~ToolRun() {
  if (child <= 0)
    return;
  kill(-child, SIGKILL);
  while (waitpid(-child, nullptr, 0) > 0)
    ;
}

void ToolRun::start() {
  std::vector<char *> words;
  for (std::string &word : arguments)
    words.push_back(word.data());
  words.push_back(nullptr);
  std::string tmp = "TMPDIR=" + file("tmp");
  std::vector<char *> environment;
  for (char **entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0)
      environment.push_back(*entry);
  environment.push_back(tmp.data());
  environment.push_back(nullptr);
  std::string outFile = file("out.txt"), errFile = file("err.txt");
  child = fork();
  if (child != 0)
    return;
  // A group of its own: all ranks are in it. A run that goes on for years must
  // not outlive a test that is killed.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Who started the tests may ignore or block signals, as nohup and a shell's
  // background jobs do, and a tool goes on ignoring what it finds ignored.
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int out = open(outFile.c_str(), O_CREAT | O_WRONLY, 0666);
  int err = open(errFile.c_str(), O_CREAT | O_WRONLY, 0666);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  if (chdir(folder.path.c_str()) != 0)
    _exit(126);
  if (before)
    before();
  execve(words[0], words.data(), environment.data());
  _exit(127);
}

std::vector<pid_t> ToolRun::rankProcesses(size_t ranks) const {
  std::string list = "/proc/" + std::to_string(child) + "/task/" +
                     std::to_string(child) + "/children";
  std::vector<pid_t> processes;
  bool started = eventually([&] {
    processes.assign(ranks, 0);
    size_t found = 0;
    std::ifstream children(list);
    for (pid_t process; children >> process;) {
      std::string words =
          readFile("/proc/" + std::to_string(process) + "/cmdline");
      constexpr std::string_view option = "--process-rank=";
      size_t place = words.find(option);
      if (place == std::string::npos)
        continue;
      size_t rank = std::atoi(words.c_str() + place + option.size());
      if (rank < ranks && !std::exchange(processes[rank], process))
        ++found;
    }
    return found == ranks;
  });
  EXPECT_TRUE(started) << "the ranks' processes did not start";
  return processes;
}

void ToolRun::finish() {
  if (!eventually([&] { return waitpid(child, &waitStatus, WNOHANG) != 0; })) {
    timedOut = true;
    ADD_FAILURE() << "still running after " << patience() << " s";
    kill(-child, SIGKILL);
    waitpid(child, &waitStatus, 0);
  }
  out = readFile(file("out.txt"));
  err = readFile(file("err.txt"));
}

int ToolRun::exitStatus() const {
  return WIFEXITED(waitStatus) ? WEXITSTATUS(waitStatus) : -1;
}

void ToolRun::expectError(const std::vector<std::string> &parts,
                          std::set<std::string> files) {
  EXPECT_EQ(exitStatus(), 1) << "wait status " << waitStatus;
  EXPECT_EQ(out, "");
  EXPECT_EQ(err.find("tp-run: error: "), 0u) << err;
  EXPECT_EQ(err.find('\n'), err.size() - 1) << err;
  for (const std::string &part : parts)
    EXPECT_NE(err.find(part), std::string::npos)
        << "'" << err << "' does not hold '" << part << "'";
  expectNothingLeft(std::move(files));
}

void ToolRun::awaitOrphans() {
  EXPECT_TRUE(eventually([&] { return waitpid(-child, nullptr, WNOHANG) < 0; }))
      << "a process of a rank goes on";
}

void ToolRun::expectNothingLeft(std::set<std::string> files) {
  files.insert({"out.txt", "err.txt", "tmp"});
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder.path)) {
    std::string name = entry.path().lexically_relative(folder.path);
    // The thread sanitizer's, of a process that was killed as it started.
    if (name.starts_with("tmp/tsan.rodata."))
      continue;
    EXPECT_TRUE(files.contains(name)) << "'" << name << "' is left";
  }
  int waited = 0;
  EXPECT_EQ(waitpid(-child, &waited, WNOHANG), -1)
      << "a process of a rank is left";
}

void tp::test::inParallel(size_t count,
                          const std::function<void(size_t)> &body) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 10; ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < count;)
        body(i);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TestProgram tp::test::everyCollective() {
  constexpr int64_t ranks = 3, small = 4, large = 3000;
  TestProgram program({{"tp", ranks}});
  int64_t group = program.addGroup({{0, 1, 2}});
  program.addArgument("a", "f32", ranks * large);
  program.addReplicated("results", "y", "f32", {2, 2});
  program.manifest["memory"]["arena_bytes"] = ranks * large * 4;
  for (int64_t block : {small, large})
    for (const char *kind : {"all_reduce", "all_gather", "reduce_scatter",
                             "all_to_all", "permute"}) {
      program.addCollective(kind, "f32", "sum", group, ranks, argumentBuffer(0),
                            arenaBuffer(0), 1, block);
      if (kind == std::string("permute"))
        program.manifest["program"].back()["sources"] = {1, 2, 0};
    }
  // Random data at (0, 0) of its two operands keeps the product finite.
  json operand = {{"buffer", argumentBuffer(0)}, {"ld", 2}};
  json product = {{"buffer", arenaBuffer(0)}, {"ld", 2}};
  program.manifest["program"].push_back({{"command", "gemm"},
                                         {"dtype", "f32"},
                                         {"m", 2},
                                         {"n", 2},
                                         {"k", 2},
                                         {"a", operand},
                                         {"b", operand},
                                         {"c", product},
                                         {"module", "mlp"},
                                         {"location", "linear"}});
  program.addCollective("all_reduce", "f32", "sum", group, ranks,
                        arenaBuffer(0), resultBuffer(0), 1, 4);
  return program;
}

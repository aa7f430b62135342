//===- RunProcesses.cpp - ranks as processes ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// Times of all ranks' commands, in a memory file that children write to.
class TimesFile {
public:
  ~TimesFile() {
    if (times)
      munmap(times, bytes);
    if (file >= 0)
      close(file);
  }
  Status create(size_t count) {
    file = memfd_create("tp-times", 0);
    if (file < 0 || ftruncate(file, count * sizeof(CommandTime)) != 0)
      return systemError(std::string("cannot make shared memory: ") +
                         std::strerror(errno));
    return map(count, file);
  }
  Status map(size_t count, int descriptor) {
    bytes = count * sizeof(CommandTime);
    if (bytes == 0)
      return {};
    void *memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
      return systemError(std::string("cannot map shared memory: ") +
                         std::strerror(errno));
    times = static_cast<CommandTime *>(memory);
    return {};
  }
  CommandTime *data() const { return times; }
  int descriptor() const { return file; }

private:
  CommandTime *times = nullptr;
  size_t bytes = 0;
  int file = -1;
};

/// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void becomeRank(char *const *arguments, pid_t parent) {
  // A rank must not outlive its parent, even one that is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

Status startRank(int64_t rank, char **argv, int segmentFile, int timesFile,
                 pid_t &child) {
  std::vector<std::string> extra = {"--process-rank=" + std::to_string(rank),
                                    "--segment-file=" +
                                        std::to_string(segmentFile)};
  if (timesFile >= 0)
    extra.push_back("--times-file=" + std::to_string(timesFile));
  std::vector<char *> arguments;
  for (char **argument = argv; *argument; ++argument)
    arguments.push_back(*argument);
  for (std::string &argument : extra)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t parent = getpid();
  child = fork();
  if (child == 0)
    becomeRank(arguments.data(), parent);
  if (child < 0)
    return systemError("cannot start a process for rank " +
                       std::to_string(rank) + ": " + std::strerror(errno));
  return {};
}

std::string howItEnded(int64_t rank, int waitStatus, const std::string &where) {
  std::string text = "rank " + std::to_string(rank);
  if (WIFSIGNALED(waitStatus))
    text += " was killed by signal " + std::to_string(WTERMSIG(waitStatus)) +
            " (" + strsignal(WTERMSIG(waitStatus)) + ")";
  else
    text +=
        " ended with exit status " + std::to_string(WEXITSTATUS(waitStatus));
  return text + " in " + where;
}

/// Waits for the ranks; tells the others when one dies, and kills those that
/// do not end when told to.
class Watch {
public:
  Watch(const Manifest &manifest, Transport &transport,
        std::vector<pid_t> children)
      : manifest(manifest), transport(transport),
        children(std::move(children)) {}

  void untilAllEnded() {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> told;
    while (left()) {
      if (!reap())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (!told && transport.aborted())
        told = Clock::now();
      if (told &&
          Clock::now() - *told > std::chrono::duration<double>(graceSeconds))
        for (pid_t child : children)
          if (child > 0)
            kill(child, SIGKILL);
    }
  }

private:
  bool left() const {
    for (pid_t child : children)
      if (child > 0)
        return true;
    return false;
  }
  /// Takes notice of one rank that ended, if any did.
  bool reap() {
    for (size_t rank = 0; rank < children.size(); ++rank) {
      int waitStatus = 0;
      if (children[rank] <= 0 ||
          waitpid(children[rank], &waitStatus, WNOHANG) != children[rank])
        continue;
      children[rank] = 0;
      if (!WIFEXITED(waitStatus) || WEXITSTATUS(waitStatus) != 0)
        transport.abort(
            {Code::RankFailed, int64_t(rank),
             howItEnded(rank, waitStatus,
                        manifest.describe(transport.progress(rank)))});
      return true;
    }
    return false;
  }

  const Manifest &manifest;
  Transport &transport;
  std::vector<pid_t> children;
};

} // namespace

Status tp::run::runProcesses(const Options &options, const Artifact &artifact,
                             char **argv, FinishedRun &run) {
  const Manifest &manifest = artifact.manifest();
  int segmentFile = -1;
  if (Status status =
          createProcessTransport(manifest, run.transport, segmentFile);
      !status.ok())
    return status;
  TimesFile times;
  size_t commands = manifest.program.size();
  if (!options.trace.empty())
    if (Status status = times.create(commands * manifest.numRanks());
        !status.ok())
      return status;
  // What is printed so far must not be printed by every child again.
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < manifest.numRanks(); ++rank) {
    pid_t child = 0;
    if (Status status =
            startRank(rank, argv, segmentFile, times.descriptor(), child);
        !status.ok()) {
      run.transport->abort({status.code(), rank, status.message()});
      break;
    }
    children.push_back(child);
  }
  Watch(manifest, *run.transport, std::move(children)).untilAllEnded();
  if (std::optional<Failure> failure = run.transport->failure())
    return {failure->code, failure->message};
  if (times.data())
    for (int64_t rank = 0; rank < manifest.numRanks(); ++rank)
      run.times.emplace_back(times.data() + rank * commands,
                             times.data() + (rank + 1) * commands);
  return {};
}

Status tp::run::runAsChild(const Options &options, const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest();
  int64_t rank = *options.processRank;
  if (rank >= manifest.numRanks())
    return invalidArgument("--process-rank: no such rank");
  std::unique_ptr<Transport> transport;
  if (Status status =
          attachProcessTransport(manifest, options.segmentFile, transport);
      !status.ok())
    return status;
  Feeding feeding;
  if (Status status = Feeding::open(options, manifest, feeding); !status.ok()) {
    transport->abort({status.code(), rank, status.message()});
    return status;
  }
  TimesFile times;
  size_t commands = manifest.program.size();
  if (options.timesFile >= 0)
    if (Status status =
            times.map(commands * manifest.numRanks(), options.timesFile);
        !status.ok())
      return status;
  return runRank(options, artifact, *transport, feeding, rank,
                 times.data() ? times.data() + rank * commands : nullptr);
}

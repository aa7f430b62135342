//===- RunProcesses.cpp - ranks as processes ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunRank.h"
#include "tp/Runtime/Launch/AddressSpace.h"
#include "tp/Runtime/Launch/Interrupts.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace tp::runtime;

namespace {

/// No exit status of this program's own.
constexpr int exitNotStarted = 127;

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
[[noreturn]] void becomeRank(char *const *arguments, pid_t parent,
                             const InterruptBlock &held) {
  // A rank must not outlive its parent, even one that is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  held.releaseInChild();
  execv("/proc/self/exe", arguments);
  _exit(exitNotStarted);
}

Status startRank(int64_t rank, const Artifact &artifact, char **argv,
                 int segmentFile, int timesFile, pid_t &child) {
  std::vector<std::string> extra = {
      "--process-rank=" + std::to_string(rank),
      "--segment-file=" + std::to_string(segmentFile),
      "--artifact-identity=" + std::to_string(artifact.identity())};
  if (timesFile >= 0)
    extra.push_back("--times-file=" + std::to_string(timesFile));
  std::vector<char *> arguments;
  for (char **argument = argv; *argument; ++argument)
    arguments.push_back(*argument);
  for (std::string &argument : extra)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t parent = getpid();
  InterruptBlock held;
  child = fork();
  if (child == 0)
    becomeRank(arguments.data(), parent, held);
  if (child < 0)
    return systemError("cannot start a process for rank " +
                       std::to_string(rank) + ": " + std::strerror(errno));
  registerChild(rank, child);
  return {};
}

std::string howItEnded(int64_t rank, int waitStatus, const std::string &where) {
  std::string text = "rank " + std::to_string(rank);
  if (WIFSIGNALED(waitStatus))
    text += " was killed by signal " + std::to_string(WTERMSIG(waitStatus)) +
            " (" + strsignal(WTERMSIG(waitStatus)) + ")";
  else if (WEXITSTATUS(waitStatus) == exitNotStarted)
    return "cannot start a process for rank " + std::to_string(rank);
  else
    text +=
        " ended with exit status " + std::to_string(WEXITSTATUS(waitStatus));
  return text + " in " + where;
}

/// Waits for the ranks; tells the others when one dies, or stays stopped for
/// longer than anyone would wait, and kills those that do not end when told to.
class ProcessWatch {
public:
  ProcessWatch(const EntryView &entry, Transport &transport,
               const LaunchOptions &options,
               const std::vector<pid_t> &processes)
      : entry(entry), transport(transport), options(options) {
    for (pid_t process : processes)
      children.push_back({process});
  }

  void untilAllEnded() {
    // Seconds since the ranks were told to end; counted in rounds, so that a
    // time in which this process was stopped itself does not count.
    std::optional<double> told;
    constexpr double round = 0.005;
    while (left()) {
      if (!notice())
        std::this_thread::sleep_for(std::chrono::duration<double>(round));
      for (size_t rank = 0; rank < children.size(); ++rank)
        if (children[rank].stoppedBy &&
            (children[rank].stoppedFor += round) > longestStop(rank))
          transport.abort({Code::Timeout, int64_t(rank),
                           "rank " + std::to_string(rank) + " stood still in " +
                               where(rank)});
      if (!transport.aborted())
        continue;
      told = told ? *told + round : 0;
      for (Child &child : children)
        if (child.process > 0 && (child.stoppedBy || *told > graceSeconds))
          end(child);
    }
  }

  /// ": rank 1 was stopped by signal 19 (Stopped (signal))", of those that were
  /// when the run failed.
  const std::string &stoppedRanks() const { return stopped; }

private:
  struct Child {
    /// 0 when it has ended.
    pid_t process;
    int stoppedBy = 0;
    double stoppedFor = 0;
    bool told = false;
  };

  bool left() const {
    for (const Child &child : children)
      if (child.process > 0)
        return true;
    return false;
  }
  /// Longer than the ranks wait for it, if any does: they say more.
  double longestStop(int64_t rank) const {
    return graceSeconds + (transport.progress(rank) < 0
                               ? 2 * options.rank.startTimeoutSeconds
                               : options.rank.timeoutSeconds);
  }
  std::string where(int64_t rank) const {
    return entry.describe(transport.progress(rank));
  }
  void end(Child &child) {
    kill(child.process, SIGKILL);
    if (child.stoppedBy && !std::exchange(child.told, true))
      stopped += "; rank " + std::to_string(&child - children.data()) +
                 " was stopped by signal " + std::to_string(child.stoppedBy) +
                 " (" + strsignal(child.stoppedBy) + ")";
  }
  /// Takes notice of one rank that ended, stopped or went on, if any did.
  bool notice() {
    for (size_t rank = 0; rank < children.size(); ++rank) {
      Child &child = children[rank];
      int waitStatus = 0;
      if (child.process <= 0 ||
          waitpid(child.process, &waitStatus,
                  WNOHANG | WUNTRACED | WCONTINUED) != child.process)
        continue;
      if (WIFSTOPPED(waitStatus) || WIFCONTINUED(waitStatus)) {
        child.stoppedBy = WIFSTOPPED(waitStatus) ? WSTOPSIG(waitStatus) : 0;
        child.stoppedFor = 0;
        return true;
      }
      child = {0};
      registerChild(rank, 0);
      bool good = WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == 0;
      // An exit status is not enough: a library may call exit.
      if (!good || !reportOf(transport, rank).finished)
        transport.abort({Code::RankFailed, int64_t(rank),
                         howItEnded(rank, waitStatus, where(rank))});
      return true;
    }
    return false;
  }

  const EntryView &entry;
  Transport &transport;
  const LaunchOptions &options;
  std::vector<Child> children;
  std::string stopped;
};

} // namespace

Status tp::runtime::runProcesses(const LaunchOptions &options,
                                 const Artifact &artifact, char **argv,
                                 FinishedRun &run) {
  const EntryView &entry = artifact.entry();
  int segmentFile = -1;
  if (Status status = createProcessTransport(entry, run.transport, segmentFile);
      !status.ok())
    return status;
  TimesFile times;
  size_t commands = entry.program.size();
  if (options.rank.trace)
    if (Status status = times.create(commands * entry.numRanks()); !status.ok())
      return status;
  // A rank has one thread. OpenBLAS starts one per core when it is loaded, each
  // with a large buffer, unless its environment says otherwise.
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1);
  // What is printed so far must not be printed by every child again.
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < entry.numRanks(); ++rank) {
    if (options.onlyRank && *options.onlyRank != rank) {
      children.push_back(0);
      continue;
    }
    pid_t child = 0;
    if (Status status = startRank(rank, artifact, argv, segmentFile,
                                  times.descriptor(), child);
        !status.ok()) {
      run.transport->abort({status.code(), rank, status.message()});
      break;
    }
    children.push_back(child);
  }
  ProcessWatch watch(entry, *run.transport, options, children);
  watch.untilAllEnded();
  if (std::optional<Failure> failure = run.transport->failure())
    return {failure->code, failure->message + watch.stoppedRanks()};
  if (times.data())
    for (int64_t rank = 0; rank < entry.numRanks(); ++rank)
      run.times.emplace_back(times.data() + rank * commands,
                             times.data() + (rank + 1) * commands);
  return {};
}

Status ProcessRank::check(const Artifact &artifact) const {
  const EntryView &entry = artifact.entry();
  if (rank >= entry.numRanks())
    return invalidArgument("--process-rank: no such rank");
  if (artifactIdentity && *artifactIdentity != artifact.identity())
    return fileError(artifact.path() +
                     ": replaced by another artifact while the ranks started");
  return checkAddressSpace(entry, /*threads=*/1, /*mapped=*/1);
}

Status tp::runtime::runAsProcess(const LaunchOptions &options,
                                 const Artifact &artifact,
                                 const ProcessRank &self,
                                 const RankWork &work) {
  const EntryView &entry = artifact.entry();
  std::unique_ptr<Transport> transport;
  if (Status status =
          attachProcessTransport(entry, self.segmentFile, transport);
      !status.ok())
    return status;
  TimesFile times;
  size_t commands = entry.program.size();
  if (self.timesFile >= 0)
    if (Status status = times.map(commands * entry.numRanks(), self.timesFile);
        !status.ok())
      return status;
  CommandTime *own =
      times.data() ? times.data() + self.rank * commands : nullptr;
  return runRank(options, artifact, *transport, work, self.rank,
                 /*place=*/std::nullopt, /*endsProcess=*/true, own);
}

//===- Interrupts.cpp - signals that end the program ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Launch/Interrupts.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include "tp/Runtime/OutputFile.h"
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP};
// A mesh has at most this many ranks.
constexpr size_t maxChildren = 4096;
std::atomic<pid_t> children[maxChildren];
/// The thread that makes children and holds interrupts back meanwhile.
pid_t firstThread;

void say(const char *text) {
  (void)!write(STDERR_FILENO, text, std::strlen(text));
}

/// Async-signal-safe calls only.
void interrupted(int number) {
  // A library's thread does not hold back what the first one does, so that the
  // system may choose it: the first thread takes the signal as soon as it can.
  if (gettid() != firstThread) {
    syscall(SYS_tgkill, getpid(), firstThread, number);
    return;
  }
  // The usual effect comes back: a second signal ends the program at once.
  std::signal(number, SIG_DFL);
  for (std::atomic<pid_t> &child : children)
    if (pid_t process = child.load())
      kill(process, SIGKILL);
  for (std::atomic<pid_t> &child : children)
    if (pid_t process = child.load())
      waitpid(process, nullptr, 0);
  hostProgram().callCleanUp();
  removeUnfinishedFile();
  say(hostProgram().name);
  say(": error: interrupted by signal ");
  const char digits[] = {char('0' + number / 10), char('0' + number % 10), 0};
  say(number < 10 ? digits + 1 : digits);
  say("\n");
  raise(number);
}

} // namespace

void tp::runtime::prepareStreams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Not readable and not writable as the stream needs it, so that a write to
  // the closed stream stays an error.
  int descriptor;
  do
    descriptor = open("/dev/null", O_RDONLY);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0)
    close(descriptor);
}

void tp::runtime::handleInterrupts() {
  firstThread = gettid();
  for (int number : interrupts) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 ||
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = interrupted;
    action.sa_flags = SA_NODEFER;
    for (int other : interrupts)
      if (other != number)
        sigaddset(&action.sa_mask, other);
    sigaction(number, &action, nullptr);
  }
}

void tp::runtime::registerChild(size_t slot, pid_t child) {
  if (slot < maxChildren)
    children[slot].store(child);
}

InterruptBlock::InterruptBlock() {
  sigset_t held;
  sigemptyset(&held);
  for (int number : interrupts)
    sigaddset(&held, number);
  pthread_sigmask(SIG_BLOCK, &held, &old);
}

InterruptBlock::~InterruptBlock() {
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void InterruptBlock::releaseInChild() const {
  for (int number : interrupts) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler == interrupted) {
      action.sa_handler = SIG_DFL;
      sigaction(number, &action, nullptr);
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

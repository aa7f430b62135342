//===- ProcessIdentity.cpp - a process that may have ended ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessIdentity.h"
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace tp::runtime;

namespace {

struct ProcessState {
  char state = 0;
  uint64_t start = 0;
};

/// Of /proc/NUMBER/stat; nothing if there is no such process. Where the file
/// cannot be read for another reason, `known` is false.
std::optional<ProcessState> stateOf(int64_t number, bool &known) {
  known = true;
  std::string path = "/proc/" + std::to_string(number) + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char text[1024];
  ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text));
  int error = errno;
  if (file >= 0)
    close(file);
  if (size < 0) {
    known = error == ENOENT || error == ESRCH;
    return std::nullopt;
  }
  std::string line(text, size);
  // The name of the program stands in parentheses and may hold any character.
  size_t end = line.rfind(')');
  if (end == std::string::npos) {
    known = false;
    return std::nullopt;
  }
  // The state is the third field, the start the 22nd.
  constexpr int fieldsBetween = 22 - 3 - 1;
  std::istringstream fields(line.substr(end + 1));
  ProcessState found;
  fields >> found.state;
  std::string skipped;
  for (int i = 0; i < fieldsBetween; ++i)
    fields >> skipped;
  fields >> found.start;
  known = !fields.fail();
  return found;
}

} // namespace

ProcessIdentity ProcessIdentity::own() {
  ProcessIdentity process;
  process.number = getpid();
  bool known;
  if (std::optional<ProcessState> found = stateOf(process.number, known))
    process.start = found->start;
  return process;
}

bool ProcessIdentity::runs() const {
  bool known;
  std::optional<ProcessState> found = stateOf(number, known);
  if (!known)
    return true;
  return found && found->start == start && found->state != 'Z' &&
         found->state != 'X';
}

ProcessWatch::ProcessWatch(const ProcessIdentity &process) : process(process) {
  descriptor = int(syscall(SYS_pidfd_open, pid_t(process.number), 0));
  // The number may have been another process's by then.
  bool known;
  std::optional<ProcessState> found = stateOf(process.number, known);
  gone = known && (!found || found->start != process.start);
}

ProcessWatch::ProcessWatch(ProcessWatch &&other) noexcept
    : process(other.process), descriptor(std::exchange(other.descriptor, -1)),
      gone(other.gone) {}

ProcessWatch::~ProcessWatch() {
  if (descriptor >= 0)
    close(descriptor);
}

bool ProcessWatch::ended() const {
  if (gone)
    return true;
  if (descriptor < 0)
    return !process.runs();
  pollfd file = {descriptor, POLLIN, 0};
  return poll(&file, 1, 0) > 0;
}

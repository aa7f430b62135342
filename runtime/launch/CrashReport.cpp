//===- CrashReport.cpp - who crashed, and where ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include "tp/Runtime/Launch/Interrupts.h"
#include "tp/Runtime/MappedFile.h"
#include "tp/Runtime/OutputFile.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace tp::runtime;

namespace {

void report(int number);

/// One line for standard error, written at once so that those of two ranks do
/// not mix; what is too long is cut.
class ErrorLine {
public:
  void add(std::string_view piece) {
    size_t count = std::min(piece.size(), sizeof(text) - 1 - size);
    std::memcpy(text + size, piece.data(), count);
    size += count;
  }
  void end() {
    text[size++] = '\n';
    (void)!write(STDERR_FILENO, text, size);
  }

private:
  char text[2048];
  size_t size = 0;
};

struct Place {
  const EntryView *entry;
  Transport *transport;
  int64_t rank;
};
thread_local Place place = {};

/// A file that got shorter has no page where its mapping has an address.
void reportShortFile(int number, siginfo_t *info, void *) {
  const char *path = MappedFile::pathAt(info->si_addr);
  if (!path)
    return report(number);
  for (const char *text : {hostProgram().name, ": error: ", path,
                           ": got shorter while it was read\n"})
    (void)!write(STDERR_FILENO, text, std::strlen(text));
  hostProgram().callCleanUp();
  removeUnfinishedFile();
  _exit(1);
}

void report(int number) {
  // The signal's usual effect comes back first: whatever goes wrong below
  // ends the process, by the alarm if it hangs. A machine that swaps may need
  // long for what is below.
  std::signal(number, SIG_DFL);
  alarm(60);
  // Nothing here may allocate: the signal can come from anywhere.
  if (place.entry) {
    ErrorLine line;
    const TextSink write = [&line](std::string_view piece) { line.add(piece); };
    const char *name = sigdescr_np(number);
    write(hostProgram().name);
    write(": error: rank ");
    writeNumber(place.rank, write);
    write(" was ended by signal ");
    writeNumber(number, write);
    write(" (");
    write(name ? name : "unknown");
    write(") in ");
    place.entry->describe(place.transport->progress(place.rank), write);
    line.end();
  }
  raise(number);
}

} // namespace

CrashReport::CrashReport(const EntryView &entry, Transport &transport,
                         int64_t rank) {
  place = {&entry, &transport, rank};
  for (int number : {SIGILL, SIGSEGV, SIGFPE}) {
    struct sigaction old = {};
    // A sanitizer's or debugger's handler says more.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
      std::signal(number, report);
  }
}

void tp::runtime::reportShortFiles() {
  struct sigaction action = {};
  action.sa_sigaction = reportShortFile;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

CrashReport::~CrashReport() { place = {}; }

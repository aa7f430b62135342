//===- CrashReport.cpp - who crashed, and where ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"
#include "CompileFirst.h"
#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/MappedFile.h"
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

namespace {

void report(int number);

struct Place {
  const Manifest *manifest;
  Transport *transport;
  int64_t rank;
};
thread_local Place place = {};

/// A file that got shorter has no page where its mapping has an address.
void reportShortFile(int number, siginfo_t *info, void *) {
  const char *path = MappedFile::pathAt(info->si_addr);
  if (!path)
    return report(number);
  for (const char *text :
       {"tp-run: error: ", path, ": got shorter while it was read\n"})
    (void)!write(STDERR_FILENO, text, std::strlen(text));
  TemporaryArtifact::removeAll();
  removeUnfinishedFile();
  _exit(1);
}

void report(int number) {
  // The signal's usual effect comes back first: whatever goes wrong below
  // ends the process, by the alarm if it hangs.
  std::signal(number, SIG_DFL);
  alarm(2);
  if (place.manifest) {
    // Not safe in general in a handler, but this process is ending, and kernels
    // do not crash inside the allocator.
    std::string text =
        "tp-run: error: rank " + std::to_string(place.rank) +
        " was ended by signal " + std::to_string(number) + " (" +
        strsignal(number) + ") in " +
        place.manifest->describe(place.transport->progress(place.rank)) + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
  raise(number);
}

} // namespace

CrashReport::CrashReport(const Manifest &manifest, Transport &transport,
                         int64_t rank) {
  place = {&manifest, &transport, rank};
  for (int number : {SIGILL, SIGSEGV, SIGFPE}) {
    struct sigaction old = {};
    // A sanitizer's or debugger's handler says more.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
      std::signal(number, report);
  }
}

void tp::run::reportShortFiles() {
  struct sigaction action = {};
  action.sa_sigaction = reportShortFile;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

CrashReport::~CrashReport() { place = {}; }

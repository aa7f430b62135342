//===- CrashReport.cpp - who crashed, and where ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

namespace {

struct Place {
  const Manifest *manifest;
  Transport *transport;
  int64_t rank;
};
thread_local Place place = {};

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
  for (int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    struct sigaction old = {};
    // A sanitizer's or debugger's handler says more.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
      std::signal(number, report);
  }
}

CrashReport::~CrashReport() { place = {}; }

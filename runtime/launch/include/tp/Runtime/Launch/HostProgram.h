//===- HostProgram.h - the program that launches ranks ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signals, and threads that cannot be ended, end a program that launches ranks
// at places where it can do nothing itself. It states before what is left to
// do: the name that its last line begins with, and what it removes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_HOSTPROGRAM_H
#define TP_RUNTIME_LAUNCH_HOSTPROGRAM_H

#include <string_view>

namespace tp::runtime {

struct HostProgram {
  /// Of static storage.
  const char *name = "tp";
  /// Removes files that must not stay. Async-signal-safe.
  void (*cleanUp)() = nullptr;

  void callCleanUp() const {
    if (cleanUp)
      cleanUp();
  }
};

/// Before there are threads and handlers of signals.
void setHostProgram(HostProgram program);
const HostProgram &hostProgram();

/// Prints `NAME: error: MESSAGE`. Names in a message may come from a file
/// that somebody else made: control characters and bytes that are not UTF-8 are
/// shown as \xNN, so that they neither move the cursor nor start a line.
void printError(std::string_view message);
/// The same for `NAME: note: MESSAGE`.
void printNote(std::string_view message);

/// Whether the reader of the standard output has gone, as `head` does: that is
/// no failure of the run.
bool isOutputClosed();

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_HOSTPROGRAM_H

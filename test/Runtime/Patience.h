//===- Patience.h - how long tests wait -------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine may be busy, swap, or stand still for a while. No test depends on
// its speed:
//
// - What must happen is waited for with patience(), by an event that can be
//   observed: a process's state, a file, a connection, the end of a run.
// - A run that must not reach its time-outs has neverSeconds.
// - A run that must reach a time-out at one place is tried with timeouts. On a
//   machine where a healthy rank stands still for the first of them, it fires
//   at another place: firedElsewhere() tells, and the next one counts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_PATIENCE_H
#define TP_TEST_RUNTIME_PATIENCE_H

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tp::test {

/// Seconds to wait for what must happen: TP_TEST_PATIENCE, or 300.
double patience();
/// Calls `happened` now and then until it is true; false if it stays false for
/// patience().
bool eventually(const std::function<bool()> &happened);

/// A time-out that no test reaches.
inline constexpr double neverSeconds = 1e6;
/// Time-outs for a run that must reach one.
inline constexpr double timeouts[] = {1, 10, 90};
inline constexpr double lastTimeout = 90;
/// As messages print it.
std::string secondsText(double seconds);
/// The text with "%T" replaced by the time-out.
std::string withTimeout(std::string text, double seconds);

bool holdsAll(const std::string &text, const std::vector<std::string> &parts);
/// The message is of a time-out, but not the one with these parts: the machine
/// was slower than the time-out. Never true of the last of `timeouts`.
bool firedElsewhere(const std::string &message,
                    const std::vector<std::string> &parts, double seconds);

/// Waits until the thread, or the process's first thread, sleeps; what it
/// sleeps on is for the caller to know.
void waitUntilAsleep(pid_t thread);
/// Waits until a signal has stopped the process.
void waitUntilStopped(pid_t process);
/// Waits until the process has so many threads.
void waitForThreads(pid_t process, int64_t threads);
/// Waits until the process has computed for some hundredths of a second.
void waitUntilItComputes(pid_t process);
/// Waits until the process has slept and gone on a few times from now.
void waitUntilItLooksAgain(pid_t process);

} // namespace tp::test

#endif // TP_TEST_RUNTIME_PATIENCE_H

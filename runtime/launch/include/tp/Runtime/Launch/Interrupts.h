//===- Interrupts.h - signals that end the program --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_INTERRUPTS_H
#define TP_RUNTIME_LAUNCH_INTERRUPTS_H

#include <csignal>
#include <cstddef>
#include <sys/types.h>

namespace tp::runtime {

/// Makes failures of writing errors instead of signals (SIGPIPE, SIGXFSZ), and
/// keeps the numbers of closed standard streams from files opened later, which
/// messages would else be written to.
void prepareStreams();

/// From now on SIGBUS in a file that is read is an error that names the file;
/// elsewhere it is reported as other fatal signals of a rank are.
void reportShortFiles();

/// From here on SIGINT, SIGTERM and SIGHUP kill the registered children,
/// remove temporary files, print a line and then end the program as they would
/// have. A signal that is ignored (nohup) stays so. The calling thread is the
/// one that makes children.
void handleInterrupts();

/// A process that ends with this one, by its slot: a rank's number, or 0 for
/// the one compiler. 0 takes the entry back.
void registerChild(size_t slot, pid_t child);

/// Holds interrupts back while a child is made, so that each one finds it
/// registered.
class InterruptBlock {
public:
  InterruptBlock();
  ~InterruptBlock();
  InterruptBlock(const InterruptBlock &) = delete;
  /// In the child, before it runs another program: interrupts are its own.
  /// Async-signal-safe.
  void releaseInChild() const;
  const sigset_t &before() const { return old; }

private:
  sigset_t old;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_INTERRUPTS_H

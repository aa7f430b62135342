//===- TemporaryArtifact.h - a .mlir file to an artifact --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_TEMPORARYARTIFACT_H
#define TP_TOOLS_TP_RUN_TEMPORARYARTIFACT_H

#include "Options.h"

namespace tp::run {

/// A file in a folder of its own, both removed at the end. There is at most
/// one.
class TemporaryArtifact {
public:
  ~TemporaryArtifact() { removeAll(); }
  /// For an end of the process without destructors. Async-signal-safe.
  static void removeAll();
  /// Runs the tp-compile beside this program on options.artifact, then makes
  /// options.artifact the result. Its diagnostics go to this stderr.
  runtime::Status compile(Options &options);
};

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_TEMPORARYARTIFACT_H

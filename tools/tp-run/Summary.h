//===- Summary.h - what tp-run prints about artifacts and runs --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_SUMMARY_H
#define TP_TOOLS_TP_RUN_SUMMARY_H

#include "Launch.h"
#include "Options.h"
#include "tp/Runtime/Cuda/CommandTimes.h"

namespace tp::run {

/// --info: arguments, results, groups, collectives, attentions, gemms, kernels,
/// memory.
std::string describeArtifact(const runtime::Artifact &artifact);

/// --stats: times, collectives by kind, memory.
std::string describeRun(const Options &options,
                        const runtime::Artifact &artifact,
                        runtime::Transport &transport);

/// The collectives of one step by kind and axes; those of 64 bytes or less
/// apart.
std::string collectiveTable(const runtime::Manifest &manifest);
/// Every attention of a program; nothing if there is none.
std::string attentionTable(const runtime::Manifest &manifest);
/// Bytes per rank.
std::string memoryTable(const runtime::Manifest &manifest);

/// "kernel", "gemm" or "collective", and what tells it from others.
struct CommandName {
  std::string name, kind;
};
CommandName nameOf(const runtime::Manifest &manifest,
                   const runtime::Command &command, int64_t rank);

/// JSON string; bytes that are no UTF-8 cannot come out of a parsed manifest.
std::string quoted(const std::string &text);

/// --time-commands: a table, and the same as JSON.
std::string describeCommandTimes(const runtime::Manifest &manifest,
                                 int64_t rank,
                                 const runtime::cuda::StepTimes &times);
runtime::Status writeCommandTimes(const std::string &path,
                                  const runtime::Manifest &manifest,
                                  int64_t rank,
                                  const runtime::cuda::StepTimes &times);

/// --trace: the last step's commands as a Chrome trace, a thread per rank.
runtime::Status
writeTrace(const std::string &path, const runtime::Manifest &manifest,
           const std::vector<std::vector<runtime::CommandTime>> &times);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_SUMMARY_H

//===- Summary.h - what tp-run prints about artifacts and runs --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_REPORT_SUMMARY_H
#define TP_TOOLS_TP_RUN_REPORT_SUMMARY_H

#include "Options.h"
#include "tp/Runtime/CommandTimes.h"

namespace tp::run {

/// --info: arguments, results, groups, collectives, attentions, gemms, kernels,
/// memory; of all entries, or of one with its parts.
std::string describeArtifact(const runtime::Artifact &artifact,
                             std::optional<int64_t> only = std::nullopt);

/// --sharding: pictures of ports; those with a file are written there, the
/// others are text to print.
runtime::Status showShardings(const Options &options,
                              const runtime::EntryView &entry,
                              std::string &shown);

/// --stats: times, collectives by kind, memory.
std::string describeRun(const Options &options,
                        const runtime::Artifact &artifact,
                        runtime::Transport &transport);

/// The collectives of one step by kind and axes; those of 64 bytes or less
/// apart.
std::string collectiveTable(const runtime::EntryView &entry);
/// Every attention of a program; nothing if there is none.
std::string attentionTable(const runtime::EntryView &entry);
/// Bytes per rank.
std::string memoryTable(const runtime::EntryView &entry);

/// "kernel", "gemm" or "collective", and what tells it from others.
struct CommandName {
  std::string name, kind;
};
CommandName nameOf(const runtime::EntryView &entry,
                   const runtime::Command &command, int64_t rank);

/// JSON string; bytes that are no UTF-8 cannot come out of a parsed manifest.
std::string quoted(const std::string &text);

/// --time-commands: a table, and the same as JSON.
std::string describeCommandTimes(const runtime::EntryView &entry, int64_t rank,
                                 const runtime::StepTimes &times);
runtime::Status writeCommandTimes(const std::string &path,
                                  const runtime::EntryView &entry, int64_t rank,
                                  const runtime::StepTimes &times);

/// How long the queues of a device worked in the last step, in seconds; of
/// times of any command.
struct QueueTimes {
  double compute = 0, communication = 0;
  /// Of the communication, while the rank computed as well.
  double overlapped = 0;
};
QueueTimes queueTimes(const runtime::EntryView &entry,
                      const std::vector<runtime::CommandTime> &times);
/// --stats with --trace, for devices: a table of them, by rank.
std::string
describeQueues(const runtime::EntryView &entry,
               const std::vector<std::vector<runtime::CommandTime>> &times);

/// --trace: the last step's commands as a Chrome trace. A rank on the CPU is a
/// thread, one on a device a process with a thread per queue; then
/// "otherData" has its queues' times.
runtime::Status
writeTrace(const std::string &path, const runtime::EntryView &entry,
           const std::vector<std::vector<runtime::CommandTime>> &times);

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_REPORT_SUMMARY_H

//===- Trace.cpp - a step as a Chrome trace -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "tp/Runtime/OutputFile.h"
#include <algorithm>
#include <cstdio>
#include <limits>

using namespace tp::run;
using namespace tp::runtime;

std::string tp::run::quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    char escape[8];
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

CommandName tp::run::nameOf(const EntryView &entry, const Command &command,
                            int64_t rank) {
  return std::visit(
      Overloaded{
          [](const KernelCommand &kernel) -> CommandName {
            return {kernel.function, "kernel"};
          },
          [&](const GemmCommand &gemm) -> CommandName {
            return {"gemm " + std::to_string(gemm.m) + "x" +
                        std::to_string(gemm.n) + "x" +
                        std::to_string(gemm.kOf(entry.coordinates(rank))),
                    "gemm"};
          },
          [&](const CollectiveCommand &call) -> CommandName {
            return {spelling(entry.collectives[call.collective].kind),
                    "collective"};
          },
          [](const AttentionCommand &attention) -> CommandName {
            return {"attention " + std::to_string(attention.queries) + "x" +
                        std::to_string(attention.keys),
                    "attention"};
          },
          [](const AttentionBackwardCommand &attention) -> CommandName {
            return {"attention_backward " + std::to_string(attention.queries) +
                        "x" + std::to_string(attention.keys),
                    "attention"};
          },
          [](const CallCommand &call) -> CommandName {
            return {call.op, "call"};
          }},
      command.what);
}

Status tp::run::writeTrace(const std::string &path, const EntryView &entry,
                           const std::vector<std::vector<CommandTime>> &times) {
  double start = std::numeric_limits<double>::infinity();
  for (const auto &ofRank : times)
    if (!ofRank.empty() && ofRank.front().begin > 0)
      start = std::min(start, ofRank.front().begin);
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  std::string queues;
  const char *separator = "";
  // A name of a process or a thread.
  auto name = [&](const char *what, size_t process, size_t thread,
                  const std::string &value) {
    text += std::string(separator) + "{\"ph\": \"M\", \"name\": \"" + what +
            "\", \"pid\": " + std::to_string(process) +
            ", \"tid\": " + std::to_string(thread) +
            ", \"args\": {\"name\": \"" + value + "\"}}";
    separator = ",\n";
  };
  bool device = entry.isCuda();
  for (size_t rank = 0; rank < times.size(); ++rank) {
    // A rank that --only-rank left out has no times.
    if (times[rank].empty() || times[rank].front().begin == 0)
      continue;
    std::string title = "rank " + std::to_string(rank);
    if (device) {
      name("process_name", rank, 0, title);
      name("thread_name", rank, 0, "compute");
      name("thread_name", rank, 1, "communication");
      QueueTimes sums = queueTimes(entry, times[rank]);
      char numbers[160];
      std::snprintf(numbers, sizeof(numbers),
                    "{\"compute_us\": %.3f, \"communication_us\": %.3f, "
                    "\"overlapped_us\": %.3f}",
                    sums.compute * 1e6, sums.communication * 1e6,
                    sums.overlapped * 1e6);
      queues += (queues.empty() ? "" : ", ") + quoted(title) + ": " + numbers;
    } else {
      name("thread_name", 0, rank, title);
    }
    for (size_t i = 0; i < times[rank].size(); ++i) {
      const Command &command = entry.program[i];
      CommandName names = nameOf(entry, command, rank);
      bool collective = std::holds_alternative<CollectiveCommand>(command.what);
      char span[96];
      std::snprintf(span, sizeof(span), "\"ts\": %.3f, \"dur\": %.3f",
                    (times[rank][i].begin - start) * 1e6,
                    (times[rank][i].end - times[rank][i].begin) * 1e6);
      text += std::string(separator) +
              "{\"ph\": \"X\", \"name\": " + quoted(names.name) +
              ", \"cat\": " + quoted(names.kind) +
              ", \"pid\": " + std::to_string(device ? rank : 0) +
              ", \"tid\": " + std::to_string(device ? collective : rank) +
              ", " + span + ", \"args\": {\"command\": " + std::to_string(i) +
              ", \"module\": " + quoted(command.module) +
              ", \"location\": " + quoted(command.location) + "}}";
    }
  }
  text += "\n], \"otherData\": {" + queues + "}}\n";
  return writeOutputFile(path, text);
}

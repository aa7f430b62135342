//===- Trace.cpp - a step as a Chrome trace -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "tp/Runtime/ArtifactFile.h"
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

CommandName tp::run::nameOf(const Manifest &manifest, const Command &command,
                            int64_t rank) {
  if (auto *kernel = std::get_if<KernelCommand>(&command.what))
    return {kernel->function, "kernel"};
  if (auto *call = std::get_if<CollectiveCommand>(&command.what))
    return {spelling(manifest.collectives[call->collective].kind),
            "collective"};
  if (auto *attention = std::get_if<AttentionCommand>(&command.what))
    return {"attention " + std::to_string(attention->queries) + "x" +
                std::to_string(attention->keys),
            "attention"};
  const auto &gemm = std::get<GemmCommand>(command.what);
  return {"gemm " + std::to_string(gemm.m) + "x" + std::to_string(gemm.n) +
              "x" + std::to_string(gemm.kOf(rank)),
          "gemm"};
}

Status tp::run::writeTrace(const std::string &path, const Manifest &manifest,
                           const std::vector<std::vector<CommandTime>> &times) {
  double start = std::numeric_limits<double>::infinity();
  for (const auto &ofRank : times)
    if (!ofRank.empty() && ofRank.front().begin > 0)
      start = std::min(start, ofRank.front().begin);
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  const char *separator = "";
  for (size_t rank = 0; rank < times.size(); ++rank) {
    // A rank that --only-rank left out has no times.
    if (times[rank].empty() || times[rank].front().begin == 0)
      continue;
    text += std::string(separator) +
            "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": " +
            std::to_string(rank) + ", \"args\": {\"name\": \"rank " +
            std::to_string(rank) + "\"}}";
    separator = ",\n";
    for (size_t i = 0; i < times[rank].size(); ++i) {
      const Command &command = manifest.program[i];
      CommandName names = nameOf(manifest, command, rank);
      char span[96];
      std::snprintf(span, sizeof(span), "\"ts\": %.3f, \"dur\": %.3f",
                    (times[rank][i].begin - start) * 1e6,
                    (times[rank][i].end - times[rank][i].begin) * 1e6);
      text += std::string(separator) +
              "{\"ph\": \"X\", \"name\": " + quoted(names.name) +
              ", \"cat\": " + quoted(names.kind) +
              ", \"pid\": 0, \"tid\": " + std::to_string(rank) + ", " + span +
              ", \"args\": {\"command\": " + std::to_string(i) +
              ", \"module\": " + quoted(command.module) +
              ", \"location\": " + quoted(command.location) + "}}";
    }
  }
  text += "\n]}\n";
  return writeFileAtomically(path, text);
}

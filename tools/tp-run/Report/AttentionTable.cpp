//===- AttentionTable.cpp - the attentions of a program -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "Table.h"

using namespace tp::run;
using namespace tp::runtime;

/// What a query i sees, and what is added to its scores.
static std::vector<std::string> masksOf(const AttentionWeights &weights) {
  std::string text;
  if (weights.lower)
    text += std::to_string(*weights.lower) + " <= ";
  if (weights.lower || weights.upper)
    text += "j - i";
  if (weights.upper)
    text += " <= " + std::to_string(*weights.upper);
  if (weights.upper == 0 && !weights.lower)
    text = "causal";
  std::vector<std::string> masks;
  if (!text.empty())
    masks.push_back(text);
  if (weights.bias)
    masks.push_back(std::string("bias ") + spelling(weights.bias->dtype));
  return masks;
}

static std::vector<std::string> masksOf(const AttentionCommand &command) {
  std::vector<std::string> masks =
      masksOf(static_cast<const AttentionWeights &>(command));
  if (command.isPartial)
    masks.push_back("a chunk of the keys");
  if (command.emptyRows != EmptyRows::None)
    masks.push_back(std::string("no keys: ") +
                    (command.emptyRows == EmptyRows::Zero ? "0" : "NaN"));
  return masks;
}

static std::vector<std::string>
masksOf(const AttentionBackwardCommand &command) {
  std::vector<std::string> masks =
      masksOf(static_cast<const AttentionWeights &>(command));
  masks.push_back("backward");
  return masks;
}

static std::string joined(const std::vector<std::string> &texts) {
  std::string text;
  for (const std::string &each : texts)
    text += (text.empty() ? "" : ", ") + each;
  return text.empty() ? "none" : text;
}

static std::string pairText(int64_t first, int64_t second) {
  std::string text = std::to_string(first);
  return first == second ? text : text + "/" + std::to_string(second);
}

std::string tp::run::attentionTable(const EntryView &entry) {
  // Layers repeat; equal rows are one.
  CountedTable table({"attention", ">batch", ">heads", ">queries", ">keys",
                      ">head size", "mask", ">bytes", ">flops", ">steps",
                      "module", "location", ">count"});
  int64_t flops = 0, bytes = 0;
  for (const Command &command : entry.program) {
    auto add = [&](const auto &attention, size_t steps) {
      flops += attention.flops;
      bytes += attention.bytes;
      table.add({spelling(attention.dtype), std::to_string(attention.batch),
                 pairText(attention.heads, attention.kvHeads),
                 std::to_string(attention.queries),
                 std::to_string(attention.keys),
                 pairText(attention.headSize, attention.valueSize),
                 joined(masksOf(attention)), grouped(attention.bytes),
                 grouped(attention.flops), std::to_string(steps),
                 command.module, command.location});
    };
    if (const auto *forward = std::get_if<AttentionCommand>(&command.what))
      add(*forward, forward->steps.size());
    else if (const auto *backward =
                 std::get_if<AttentionBackwardCommand>(&command.what))
      add(*backward, 0);
  }
  return withTotal(table, bytes, flops);
}

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
static std::string maskText(const AttentionCommand &command) {
  std::string text;
  if (command.lower)
    text += std::to_string(*command.lower) + " <= ";
  if (command.lower || command.upper)
    text += "j - i";
  if (command.upper)
    text += " <= " + std::to_string(*command.upper);
  if (command.upper == 0 && !command.lower)
    text = "causal";
  if (command.bias)
    text += std::string(text.empty() ? "" : ", ") + "bias " +
            spelling(command.bias->dtype);
  if (command.isPartial)
    text += std::string(text.empty() ? "" : ", ") + "a chunk of the keys";
  if (command.emptyRows != EmptyRows::None)
    text += std::string(text.empty() ? "" : ", ") +
            "no keys: " + (command.emptyRows == EmptyRows::Zero ? "0" : "NaN");
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
    const auto *attention = std::get_if<AttentionCommand>(&command.what);
    if (!attention)
      continue;
    flops += attention->flops;
    bytes += attention->bytes;
    table.add(
        {spelling(attention->dtype), std::to_string(attention->batch),
         pairText(attention->heads, attention->kvHeads),
         std::to_string(attention->queries), std::to_string(attention->keys),
         pairText(attention->headSize, attention->valueSize),
         maskText(*attention), grouped(attention->bytes),
         grouped(attention->flops), std::to_string(attention->steps.size()),
         command.module, command.location});
  }
  return withTotal(table, bytes, flops);
}

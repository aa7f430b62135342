//===- Strategy.cpp - what one op does on every axis ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Strategy.h"
#include "AxisText.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

Strategy Strategy::replicated(const Mesh &mesh) {
  Strategy strategy;
  for (unsigned i = 0; i < mesh.axes.size(); ++i)
    strategy.entries.push_back({mesh.wholeAxis(i), Choice::replicate()});
  return strategy;
}

std::vector<AxisPart> Strategy::partsSplitting(unsigned factor) const {
  std::vector<AxisPart> parts;
  for (const AxisChoice &entry : entries)
    if (entry.choice.kind == ChoiceKind::Split && entry.choice.factor == factor)
      parts.push_back(entry.part);
  return parts;
}

const std::vector<int64_t> &Strategy::segmentsOf(unsigned factor) const {
  static const std::vector<int64_t> none;
  for (const AxisChoice &entry : entries)
    if (entry.choice.kind == ChoiceKind::Split && entry.choice.factor == factor)
      return entry.choice.segments;
  return none;
}

template <typename T> static std::string listOf(const std::vector<T> &numbers) {
  std::string text = "[";
  for (auto [i, number] : llvm::enumerate(numbers))
    text += (i ? ", " : "") + std::to_string(number);
  return text + "]";
}

std::string tp::toString(const Choice &choice) {
  switch (choice.kind) {
  case ChoiceKind::Replicate:
    return "replicate";
  case ChoiceKind::Split:
    return "split<" + std::to_string(choice.factor) +
           (choice.segments.empty()
                ? ""
                : ", segments = " + listOf(choice.segments)) +
           ">";
  case ChoiceKind::Passthrough:
    break;
  }
  return "passthrough<" + toString(choice.reduction).str() + ", " +
         listOf(choice.slots) + ">";
}

std::string Strategy::toString(const Mesh &mesh) const {
  return listOnAxes(mesh, entries, [](const AxisChoice &entry) {
    return tp::toString(entry.choice);
  });
}

llvm::hash_code tp::hash_value(const Choice &choice) {
  return llvm::hash_combine(
      choice.kind, choice.factor, choice.reduction,
      llvm::hash_combine_range(choice.slots.begin(), choice.slots.end()),
      llvm::hash_combine_range(choice.segments.begin(), choice.segments.end()));
}

llvm::hash_code tp::hash_value(const AxisChoice &entry) {
  return llvm::hash_combine(entry.part, entry.choice);
}

llvm::hash_code tp::hash_value(const Strategy &strategy) {
  return llvm::hash_combine_range(strategy.entries.begin(),
                                  strategy.entries.end());
}

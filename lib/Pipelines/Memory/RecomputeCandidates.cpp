//===- RecomputeCandidates.cpp - what may be computed again ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/RecomputeCandidates.h"
#include "tp/IR/ModuleLocation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

static SmallVector<StringRef> segmentsOf(StringRef name) {
  SmallVector<StringRef> segments;
  name.split(segments, '.');
  return segments;
}

/// The name with `*` for numbers: one pattern for all layers.
static std::string patternOf(StringRef name) {
  SmallVector<StringRef> segments = segmentsOf(name);
  for (StringRef &segment : segments)
    if (llvm::all_of(segment, llvm::isDigit))
      segment = "*";
  return llvm::join(segments, ".");
}

bool tp::mayOverlap(StringRef one, StringRef other) {
  return llvm::all_of(llvm::zip(segmentsOf(one), segmentsOf(other)),
                      [](const auto &pair) {
                        auto [a, b] = pair;
                        return a == b || a == "*" || b == "*";
                      });
}

std::vector<ModulePatterns> tp::recomputeCandidates(ModuleOp model) {
  llvm::SetVector<StringRef> modules;
  model.walk([&](Operation *op) {
    StringRef name = moduleOf(op->getLoc());
    if (!name.consume_front("bwd:"))
      return;
    for (; !name.empty(); name = name.rsplit('.').first) {
      // What an exporter writes in angle brackets is no module.
      if (!name.contains('<'))
        modules.insert(name);
      if (!name.contains('.'))
        break;
    }
  });
  ModulePatterns patterns;
  llvm::StringSet<> known, outer;
  for (StringRef name : modules) {
    std::string pattern = patternOf(name);
    if (known.insert(pattern).second)
      patterns.push_back(pattern);
    if (name.contains('.'))
      outer.insert(patternOf(name.rsplit('.').first));
  }
  // One alone of several innermost modules is not worth a trial.
  llvm::MapVector<StringRef, ModulePatterns> siblings;
  std::vector<ModulePatterns> candidates;
  for (const std::string &pattern : patterns) {
    StringRef name = pattern;
    if (outer.contains(name))
      candidates.push_back({pattern});
    else
      siblings[name.contains('.') ? name.rsplit('.').first : StringRef()]
          .push_back(pattern);
  }
  for (auto &[parent, inner] : siblings)
    candidates.push_back(std::move(inner));
  llvm::stable_sort(candidates, [](const ModulePatterns &a,
                                   const ModulePatterns &b) {
    return StringRef(a.front()).count('.') < StringRef(b.front()).count('.');
  });
  return candidates;
}

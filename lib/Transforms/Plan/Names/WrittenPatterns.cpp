//===- WrittenPatterns.cpp - one pattern for names that agree -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Transforms/Plan/WrittenPatterns.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace tp;
using llvm::StringRef;

/// The name with `*` for every number in it.
static std::string patternOf(StringRef name) {
  llvm::SmallVector<StringRef> segments;
  name.split(segments, '.');
  for (StringRef &segment : segments)
    if (!segment.empty() && llvm::all_of(segment, llvm::isDigit))
      segment = "*";
  return llvm::join(segments, ".");
}

std::vector<std::pair<std::string, size_t>> tp::asPatterns(
    llvm::ArrayRef<WrittenName> names,
    llvm::function_ref<llvm::SmallVector<StringRef>(StringRef)> matching) {
  llvm::StringMap<StringRef> texts;
  for (const WrittenName &each : names)
    texts[each.name] = each.text;
  std::vector<std::pair<std::string, size_t>> written;
  llvm::StringSet<> isWritten;
  for (const WrittenName &each : names) {
    std::string name = patternOf(each.name);
    for (StringRef other : matching(name))
      if (auto it = texts.find(other);
          it == texts.end() || it->second != each.text) {
        name = each.name;
        break;
      }
    if (isWritten.insert(name).second)
      written.push_back({name, each.number});
  }
  return written;
}

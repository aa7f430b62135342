//===- NamePattern.cpp - names with wildcards -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Transforms/Plan/NamePattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

bool tp::isPattern(StringRef text) {
  return text.find_first_of("*?[") != StringRef::npos;
}

/// What is between the brackets of the set that begins at `at`, if it ends. A
/// closing bracket that comes first is one of the set.
static std::optional<StringRef> setAt(StringRef pattern, size_t at) {
  size_t first = at + 1;
  if (pattern.substr(first).starts_with("!"))
    ++first;
  size_t end = pattern.find(']', first + 1);
  if (end == StringRef::npos)
    return std::nullopt;
  return pattern.slice(at + 1, end);
}

static bool isInSet(StringRef set, char letter) {
  bool isOutside = set.consume_front("!");
  bool found = false;
  while (!set.empty() && !found) {
    bool isRange = set.size() > 2 && set[1] == '-';
    found = isRange ? set[0] <= letter && letter <= set[2] : set[0] == letter;
    set = set.drop_front(isRange ? 3 : 1);
  }
  return found != isOutside;
}

/// Whether what stands at `at` of the pattern, no star, matches the letter; and
/// where the pattern goes on.
static std::pair<bool, size_t> matchOne(StringRef pattern, size_t at,
                                        char letter) {
  if (pattern[at] == '?')
    return {true, at + 1};
  if (pattern[at] == '[')
    if (std::optional<StringRef> set = setAt(pattern, at))
      return {isInSet(*set, letter), at + set->size() + 2};
  return {pattern[at] == letter, at + 1};
}

/// Neither side has a dot. Only the last star is ever tried again, so the work
/// is at most quadratic.
static bool segmentMatches(StringRef pattern, StringRef text) {
  size_t p = 0, t = 0, star = StringRef::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
      continue;
    }
    if (p < pattern.size()) {
      auto [matches, next] = matchOne(pattern, p, text[t]);
      if (matches) {
        p = next;
        ++t;
        continue;
      }
    }
    if (star == StringRef::npos)
      return false;
    p = star + 1;
    t = ++resume;
  }
  return pattern.find_first_not_of('*', p) == StringRef::npos;
}

static SmallVector<StringRef> segmentsOf(StringRef name) {
  SmallVector<StringRef> segments;
  name.split(segments, '.');
  return segments;
}

static bool segmentsMatch(ArrayRef<StringRef> patterns,
                          ArrayRef<StringRef> segments) {
  return llvm::all_of(llvm::zip(patterns, segments), [](auto pair) {
    return segmentMatches(std::get<0>(pair), std::get<1>(pair));
  });
}

bool tp::nameMatches(StringRef pattern, StringRef name) {
  SmallVector<StringRef> patterns = segmentsOf(pattern);
  SmallVector<StringRef> segments = segmentsOf(name);
  return patterns.size() == segments.size() &&
         segmentsMatch(patterns, segments);
}

std::vector<Suggestion> tp::otherPrefixes(StringRef pattern,
                                          ArrayRef<StringRef> names) {
  SmallVector<StringRef> wanted = segmentsOf(pattern);
  // A star alone says nothing of a name.
  auto says = [](ArrayRef<StringRef> segments) {
    return llvm::any_of(segments, [](StringRef each) { return each != "*"; });
  };
  bool saysMore = says(wanted);
  // Weights that are stacked over layers have one name for all of them.
  SmallVector<StringRef> stacked = wanted;
  llvm::erase(stacked, "*");
  // With how many segments they differ by.
  std::vector<std::pair<size_t, Suggestion>> found;
  for (StringRef name : names) {
    SmallVector<StringRef> segments = segmentsOf(name);
    if (stacked.size() < wanted.size() && stacked.size() > 1 &&
        stacked.size() == segments.size() && segmentsMatch(stacked, segments)) {
      found.push_back({0, {name.str(), 1}});
      continue;
    }
    size_t common = std::min(wanted.size(), segments.size());
    if (name.empty() ||
        (saysMore && !says(ArrayRef(wanted).take_back(common))) ||
        wanted.size() == segments.size() ||
        !segmentsMatch(ArrayRef(wanted).take_back(common),
                       ArrayRef(segments).take_back(common)))
      continue;
    SmallVector<StringRef> text(segments.begin(), segments.end() - common);
    // The number of a layer in front stands for all of them.
    for (StringRef &segment : text)
      if (!segment.empty() && llvm::all_of(segment, llvm::isDigit))
        segment = "*";
    llvm::append_range(text, ArrayRef(wanted).take_back(common));
    std::string proposal = llvm::join(text, ".");
    auto it = llvm::find_if(
        found, [&](const auto &each) { return each.second.name == proposal; });
    if (it != found.end())
      ++it->second.matches;
    else
      found.push_back({std::max(wanted.size(), segments.size()) - common,
                       {std::move(proposal), 1}});
  }
  llvm::sort(found, [](const auto &left, const auto &right) {
    return std::tie(left.first, left.second.name) <
           std::tie(right.first, right.second.name);
  });
  std::vector<Suggestion> result;
  for (auto &[difference, suggestion] : found)
    result.push_back(std::move(suggestion));
  return result;
}

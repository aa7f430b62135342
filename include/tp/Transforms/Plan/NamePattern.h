//===- NamePattern.h - names with wildcards ---------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Patterns of dotted names, segment by segment with the meaning of Python's
// fnmatch, which torch's plans use: `*` any part, `?` one character, `[12]`,
// `[0-3]` one of a set, `[!0]` one outside of it. A bracket that nothing closes
// stands for itself.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_NAMEPATTERN_H
#define TP_TRANSFORMS_PLAN_NAMEPATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tp {

/// Whether the text may match other names than itself.
bool isPattern(llvm::StringRef text);

/// Whether a dotted name has the form of `pattern`.
bool nameMatches(llvm::StringRef pattern, llvm::StringRef name);

/// What to write in place of a pattern that matches nothing.
struct Suggestion {
  std::string name;
  unsigned matches;
};

/// The pattern with another beginning, so that it matches some of `names`: one
/// more at its front (`model.`), or without the first ones; or without its
/// stars, as weights that are stacked over layers are named. Those that differ
/// least come first.
std::vector<Suggestion> otherPrefixes(llvm::StringRef pattern,
                                      llvm::ArrayRef<llvm::StringRef> names);

} // namespace tp

#endif // TP_TRANSFORMS_PLAN_NAMEPATTERN_H

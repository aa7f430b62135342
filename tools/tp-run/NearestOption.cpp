//===- NearestOption.cpp - what an unknown option may mean ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearestOption.h"
#include <algorithm>
#include <numeric>
#include <vector>

/// Insertions, removals and replacements that make `b` of `a`.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

std::string tp::run::nearestName(std::string_view word,
                                 const std::vector<std::string> &names) {
  std::string nearest;
  // A third of the name may be wrong. Names of one letter are not similar.
  size_t least = word.size() / 3 + 1;
  for (const std::string &name : names) {
    // Each letter more or less is an edit.
    if (std::max(name.size(), word.size()) -
            std::min(name.size(), word.size()) >=
        least)
      continue;
    size_t distance = editDistance(word, name);
    if (distance >= least)
      continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string tp::run::nearestOption(std::string_view word,
                                   std::string_view help) {
  std::string_view name = word.substr(0, word.find('='));
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string nearest;
  // A third of the name may be wrong.
  size_t least = std::max(name.size() / 3 + 1, size_t(2));
  for (size_t mark = help.find("--"); mark != std::string_view::npos;
       mark = help.find("--", mark + 2)) {
    std::string_view option = help.substr(mark + 2);
    option = option.substr(
        0, option.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"));
    size_t distance = editDistance(name, option);
    if (option.empty() || distance >= least)
      continue;
    least = distance;
    nearest = "--" + std::string(option);
    if (distance == 0)
      break;
  }
  return nearest;
}

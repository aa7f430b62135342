//===- NearestOption.cpp - what an unknown option may mean ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearestOption.h"
#include "tp/Runtime/Port.h"
#include <algorithm>
#include <vector>

std::string tp::run::nearestOption(std::string_view word,
                                   std::string_view help) {
  std::string_view name = word.substr(0, word.find('='));
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::vector<std::string> options;
  for (size_t mark = help.find("--"); mark != std::string_view::npos;
       mark = help.find("--", mark + 2)) {
    std::string_view option = help.substr(mark + 2);
    option = option.substr(
        0, option.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"));
    if (!option.empty())
      options.emplace_back(option);
  }
  // A third of the name may be wrong, one letter at least.
  std::string nearest = runtime::nearestName(
      name, options, std::max(name.size() / 3 + 1, size_t(2)));
  return nearest.empty() ? nearest : "--" + nearest;
}

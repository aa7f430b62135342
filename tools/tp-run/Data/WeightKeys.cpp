//===- WeightKeys.cpp - the names of weights in their files ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightKeys.h"
#include <algorithm>

using namespace tp::run;
using namespace tp::runtime;

/// A state's key is `kind:name`: what stands before the name.
static size_t startOfName(const Port &port, const std::string &key) {
  return port.role() == PortRole::OptimizerState &&
                 key.starts_with(port.kind + ":")
             ? port.kind.size() + 1
             : 0;
}

std::string WeightKeys::prefixed(const Port &port,
                                 const std::string &key) const {
  size_t start = startOfName(port, key);
  std::string before = key.substr(0, start), name = key.substr(start);
  if (!prefix.starts_with("-"))
    return before + prefix + name;
  std::string lacking = prefix.substr(1);
  return name.starts_with(lacking) ? before + name.substr(lacking.size()) : key;
}

std::vector<std::string>
WeightKeys::inFiles(const Port &port, const std::vector<std::string> &keys) {
  std::vector<std::string> found;
  for (const std::string &key : keys)
    if (std::string other = prefixed(port, key); files.contains(other))
      found.push_back(other);
  // Not all of a model may be below the prefix.
  if (found.empty())
    found = keys;
  used.insert(found.begin(), found.end());
  return found;
}

std::string WeightKeys::hint(const Port &port,
                             const std::vector<std::string> &keys) const {
  std::vector<std::string> names;
  for (const std::string &key : files.keys())
    names.push_back(key);
  for (const std::string &wanted : keys) {
    size_t start = startOfName(port, wanted);
    std::string kind = wanted.substr(0, start), name = wanted.substr(start);
    std::string longer, shorter;
    for (const std::string &full : names) {
      if (!full.starts_with(kind))
        continue;
      std::string key = full.substr(start);
      if (key.ends_with("." + name) &&
          (longer.empty() || key.size() < longer.size()))
        longer = key;
      if (name.ends_with("." + key) && key.size() > shorter.size())
        shorter = key;
    }
    if (!longer.empty())
      return "it has '" + kind + longer + "': give --weights-prefix=" +
             longer.substr(0, longer.size() - name.size());
    if (!shorter.empty())
      return "it has '" + kind + shorter + "': give --weights-prefix=-" +
             name.substr(0, name.size() - shorter.size());
  }
  for (const std::string &wanted : keys)
    if (std::string near = nearestName(wanted, names); !near.empty())
      return "the nearest is '" + near + "'";
  return "";
}

/// Of each tensor of a weight, which may be several, its keys.
static std::vector<std::vector<std::string>> keysOfTensors(const Port &port) {
  if (const auto *whole = std::get_if<WholeSource>(&port.source))
    return {whole->sourceKeys};
  std::vector<std::vector<std::string>> keys;
  for (const SourceSegment &part : std::get<JoinedSource>(port.source).segments)
    keys.push_back(part.sourceKeys);
  return keys;
}

void WeightKeys::use(const Port &port) {
  for (const std::vector<std::string> &keys : keysOfTensors(port))
    inFiles(port, keys);
}

Status WeightKeys::checkAllThere(const std::vector<const Port *> &weights) {
  constexpr size_t mostListed = 5;
  std::string listed, advice;
  size_t count = 0;
  for (const Port *port : weights)
    for (const std::vector<std::string> &keys : keysOfTensors(*port)) {
      std::vector<std::string> found = inFiles(*port, keys);
      if (std::any_of(found.begin(), found.end(), [&](const std::string &key) {
            return files.contains(key);
          }))
        continue;
      if (count++ < mostListed)
        listed += (listed.empty() ? "'" : ", '") + keys.front() + "'";
      if (advice.empty())
        advice = hint(*port, keys);
    }
  if (count < 2)
    return {};
  if (count > mostListed)
    listed += " and " + std::to_string(count - mostListed) + " more";
  Status status = files.lacks(listed);
  return advice.empty()
             ? status
             : Status(status.code(), status.message() + "; " + advice);
}

std::string WeightKeys::describeUnused() const {
  constexpr size_t mostListed = 6;
  std::string names;
  size_t count = 0;
  for (const std::string &key : files.keys())
    if (!used.contains(key) && count++ < mostListed)
      names += (names.empty() ? "'" : ", '") + key + "'";
  if (count == 0)
    return "";
  return "the program has no use for " + std::to_string(count) + " tensor" +
         (count == 1 ? "" : "s") + " of the weight files: " + names +
         (count > mostListed ? ", ..." : "");
}

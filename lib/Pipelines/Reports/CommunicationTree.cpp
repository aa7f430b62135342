//===- CommunicationTree.cpp - collectives by module ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reports/CommunicationTree.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <array>
#include <deque>

using namespace tp;
using namespace llvm;

static constexpr std::array<StringRef, 3> directions = {"forward", "backward",
                                                        "optimizer"};

namespace {

/// Collectives of one kind in one direction.
struct Sent {
  std::string direction, kind;
  int64_t count = 0, payload = 0, ring = 0;
};

/// A module; `name` is the part of its path behind that of the module it is in.
struct Module {
  std::string name, path;
  std::vector<Sent> sent;
  /// Whether some collective is its own, and not of a module in it.
  bool sends = false;
  std::deque<Module> modules;

  void add(const Sent &row) {
    auto it = find_if(sent, [&](const Sent &known) {
      return known.direction == row.direction && known.kind == row.kind;
    });
    if (it == sent.end()) {
      sent.push_back(row);
      return;
    }
    it->count += row.count;
    it->payload += row.payload;
    it->ring += row.ring;
  }

  Module &child(StringRef part) {
    for (Module &module : modules)
      if (module.name == part)
        return module;
    Module &module = modules.emplace_back();
    module.name = part;
    module.path = path.empty() ? part.str() : path + "." + part.str();
    return module;
  }
};

} // namespace

/// The direction, and the path in the model.
static std::pair<StringRef, StringRef> placeOf(StringRef module) {
  if (module.consume_front("bwd:"))
    return {"backward", module};
  if (module == "<optim>" || module.starts_with("<optim>.")) {
    module.consume_front("<optim>");
    module.consume_front(".");
    return {"optimizer", module};
  }
  return {"forward", module};
}

static json::Object toJSON(const Module *module) {
  std::string path = module->path;
  json::Array sent, modules;
  for (const Sent &row : module->sent)
    sent.push_back(json::Object{{"direction", row.direction},
                                {"kind", row.kind},
                                {"count", row.count},
                                {"payload_bytes", row.payload},
                                {"ring_bytes_per_rank", row.ring}});
  for (const Module &child : module->modules) {
    // A module that sends nothing itself is left out with one module in it.
    const Module *shown = &child;
    while (!shown->sends && shown->modules.size() == 1)
      shown = &shown->modules.front();
    modules.push_back(toJSON(shown));
  }
  json::Object result{{"module", path}, {"sent", std::move(sent)}};
  if (!modules.empty())
    result["modules"] = std::move(modules);
  return result;
}

json::Array tp::communicationTrees(const json::Array &collectives) {
  std::vector<std::pair<std::string, Module>> roots;
  for (const json::Value &value : collectives) {
    const json::Object &row = *value.getAsObject();
    std::string entry = row.getString("entry").value_or("").str();
    auto root =
        find_if(roots, [&](const auto &known) { return known.first == entry; });
    if (root == roots.end())
      root = roots.insert(root, {entry, Module()});
    auto [direction, path] = placeOf(row.getString("module").value_or(""));
    int64_t count = row.getInteger("count").value_or(1);
    Sent sent{direction.str(), row.getString("kind").value_or("").str(), count,
              count * row.getInteger("payload_bytes").value_or(0),
              count * row.getInteger("ring_bytes_per_rank").value_or(0)};
    Module *module = &root->second;
    module->add(sent);
    for (StringRef part : split(path, '.')) {
      if (part.empty())
        continue;
      module = &module->child(part);
      module->add(sent);
    }
    module->sends = true;
  }
  json::Array trees;
  for (const auto &[entry, root] : roots) {
    json::Object tree = toJSON(&root);
    if (!entry.empty())
      tree["entry"] = entry;
    trees.push_back(std::move(tree));
  }
  return trees;
}

static bool hasDirection(const json::Array &trees, StringRef direction) {
  return any_of(trees, [&](const json::Value &tree) {
    return any_of(
        *tree.getAsObject()->getArray("sent"), [&](const json::Value &row) {
          return row.getAsObject()->getString("direction") == direction;
        });
  });
}

/// `{"all_reduce", "all_gather"}`, in order of first use.
static std::vector<StringRef> kindsOf(const json::Array &sent) {
  std::vector<StringRef> kinds;
  for (const json::Value &row : sent) {
    StringRef kind = row.getAsObject()->getString("kind").value_or("");
    if (!is_contained(kinds, kind))
      kinds.push_back(kind);
  }
  return kinds;
}

static void addLines(const json::Object &module, StringRef name, size_t depth,
                     ArrayRef<StringRef> shown,
                     std::vector<std::vector<std::string>> &lines) {
  const json::Array &sent = *module.getArray("sent");
  bool isFirst = true;
  for (StringRef kind : kindsOf(sent)) {
    std::vector<std::string> line = {
        isFirst ? std::string(2 * depth, ' ') + name.str() : "", kind.str()};
    isFirst = false;
    for (StringRef direction : shown) {
      auto row = find_if(sent, [&](const json::Value &value) {
        const json::Object &one = *value.getAsObject();
        return one.getString("direction") == direction &&
               one.getString("kind") == kind;
      });
      for (const char *key : {"count", "payload_bytes"})
        line.push_back(
            row == sent.end()
                ? ""
                : std::to_string(
                      row->getAsObject()->getInteger(key).value_or(0)));
    }
    lines.push_back(std::move(line));
  }
  StringRef path = module.getString("module").value_or("");
  if (const json::Array *modules = module.getArray("modules"))
    for (const json::Value &value : *modules) {
      const json::Object &child = *value.getAsObject();
      StringRef below = child.getString("module").value_or("");
      if (below.consume_front(path))
        below.consume_front(".");
      addLines(child, below, depth + 1, shown, lines);
    }
}

std::vector<std::vector<std::string>>
tp::communicationLines(const json::Array &trees) {
  std::vector<std::string> headings = {"module", "kind"};
  std::vector<StringRef> shown;
  for (StringRef direction : directions)
    if (direction == "forward" || hasDirection(trees, direction)) {
      shown.push_back(direction);
      headings.push_back(direction.str());
      headings.push_back("payload bytes");
    }
  std::vector<std::vector<std::string>> lines = {std::move(headings)};
  for (const json::Value &value : trees) {
    const json::Object &tree = *value.getAsObject();
    std::string name = "the model";
    if (std::optional<StringRef> entry = tree.getString("entry"))
      name = "entry " + entry->str();
    addLines(tree, name, 0, shown, lines);
  }
  return lines;
}

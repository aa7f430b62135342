//===- ModuleTree.cpp - the modules a plan may name -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Names/ModuleTree.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/edit_distance.h"

using namespace mlir;
using namespace tp;

static bool isModuleName(StringRef name) {
  return !name.contains('<') && !name.starts_with("bwd:");
}

std::optional<StringRef> tp::modulePathOf(Location loc) {
  StringRef name = moduleOf(loc);
  if (!isModuleName(name) || (name.empty() && nodeOf(loc).empty()))
    return std::nullopt;
  return name;
}

bool tp::isInside(StringRef module, StringRef outer) {
  if (outer.empty() || module == outer)
    return true;
  return module.consume_front(outer) && module.starts_with(".");
}

void ModuleTree::add(StringRef module) {
  if (!isModuleName(module) || rows.contains(module))
    return;
  rows.insert({module, ModuleRow()});
  if (!module.empty())
    add(module.contains('.') ? module.rsplit('.').first : StringRef());
}

static LogicalResult readStrings(Operation *op, DictionaryAttr row,
                                 StringRef key, SmallVector<StringRef> &out) {
  Attribute value = row.get(key);
  if (!value)
    return success();
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list || !llvm::all_of(list, llvm::IsaPred<StringAttr>))
    return op->emitError() << "'" << attr::modules << "': expected '" << key
                           << "' to be a list of strings, got " << value;
  for (auto item : list.getAsRange<StringAttr>())
    out.push_back(item.getValue());
  return success();
}

/// Reads which of the row's inputs belong to one argument.
static LogicalResult readArguments(Operation *op, DictionaryAttr dictionary,
                                   ModuleRow &row) {
  SmallVector<StringRef> inputs, names, positional;
  if (failed(readStrings(op, dictionary, "inputs", inputs)) ||
      failed(readStrings(op, dictionary, "input_names", names)) ||
      failed(readStrings(op, dictionary, "positional", positional)))
    return failure();
  bool tellsPositions = dictionary.get("positional") != nullptr;
  if ((tellsPositions || !names.empty()) && names.size() != inputs.size())
    return op->emitError() << "'" << attr::modules << "': expected "
                           << inputs.size()
                           << " 'input_names', as many as 'inputs', got "
                           << names.size();
  if (!tellsPositions) {
    for (auto [i, input] : llvm::enumerate(inputs))
      row.arguments.push_back(
          {names.empty() ? StringRef() : names[i], {input}});
    return success();
  }
  unsigned next = 0;
  auto take = [&](StringRef name) {
    CallValue &argument = row.arguments.emplace_back();
    argument.name = name;
    for (; next < names.size() && names[next] == name; ++next)
      argument.nodes.push_back(inputs[next]);
  };
  for (StringRef name : positional)
    take(name);
  row.numPositional = positional.size();
  while (next < names.size())
    take(names[next]);
  return success();
}

/// Reads which of the row's outputs belong to one result.
static LogicalResult readResults(Operation *op, DictionaryAttr dictionary,
                                 ModuleRow &row) {
  SmallVector<StringRef> outputs;
  if (failed(readStrings(op, dictionary, "outputs", outputs)))
    return failure();
  Attribute sizes = dictionary.get("output_sizes");
  if (!sizes) {
    for (StringRef output : outputs)
      row.results.push_back({StringRef(), {output}});
    return success();
  }
  auto error = [&] {
    return op->emitError() << "'" << attr::modules
                           << "': expected 'output_sizes' to be an array of "
                              "i64 with the sum "
                           << outputs.size()
                           << ", the number of 'outputs', got " << sizes;
  };
  auto counts = dyn_cast<DenseI64ArrayAttr>(sizes);
  if (!counts)
    return error();
  ArrayRef<StringRef> rest = outputs;
  for (int64_t count : counts.asArrayRef()) {
    if (count < 0 || count > static_cast<int64_t>(rest.size()))
      return error();
    row.results.push_back(
        {StringRef(), llvm::to_vector<1>(rest.take_front(count))});
    rest = rest.drop_front(count);
  }
  if (!rest.empty())
    return error();
  row.numResults = row.results.size();
  return success();
}

FailureOr<ModuleTree> ModuleTree::build(func::FuncOp function) {
  ModuleTree tree;
  auto module = function->getParentOfType<ModuleOp>();
  auto table = function->getAttrOfType<ArrayAttr>(attr::modules);
  if (!table)
    table = module->getAttrOfType<ArrayAttr>(attr::modules);
  if (table)
    for (Attribute item : table) {
      auto dictionary = dyn_cast<DictionaryAttr>(item);
      auto name = dictionary ? dictionary.getAs<StringAttr>("name") : nullptr;
      if (!name)
        return module.emitError()
               << "'" << attr::modules
               << "': expected dictionaries with a name, got " << item;
      ModuleRow row;
      row.fromTable = true;
      if (Attribute className = dictionary.get("class")) {
        if (!isa<StringAttr>(className))
          return module.emitError()
                 << "'" << attr::modules
                 << "': expected 'class' to be a string, got " << className;
        row.className = cast<StringAttr>(className).getValue();
      }
      if (failed(readArguments(module, dictionary, row)) ||
          failed(readResults(module, dictionary, row)))
        return failure();
      if (isModuleName(name.getValue()))
        tree.rows.insert({name.getValue(), std::move(row)});
    }
  for (StringRef name : llvm::map_to_vector(
           tree.rows, [](const auto &row) { return row.first; }))
    if (name.contains('.'))
      tree.add(name.rsplit('.').first);
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    auto kind = function.getArgAttrOfType<StringAttr>(i, attr::kind);
    auto name = function.getArgAttrOfType<StringAttr>(i, attr::name);
    bool belongs =
        kind && (kind.getValue() == "parameter" || kind.getValue() == "buffer");
    if (name && belongs && name.getValue().contains('.'))
      tree.add(name.getValue().rsplit('.').first);
  }
  // Ops of one graph node share their location.
  llvm::DenseSet<Location> seen;
  Location last = function.getLoc();
  function.walk([&](Operation *op) {
    if (op->getLoc() == last || !seen.insert(op->getLoc()).second)
      return;
    last = op->getLoc();
    if (std::optional<StringRef> name = modulePathOf(op->getLoc()))
      tree.add(*name);
  });
  tree.add("");
  return tree;
}

const ModuleRow *ModuleTree::find(StringRef module) const {
  auto it = rows.find(module);
  return it == rows.end() ? nullptr : &it->second;
}

SmallVector<StringRef> ModuleTree::match(StringRef pattern) const {
  SmallVector<StringRef> result;
  if (auto it = rows.find(pattern); it != rows.end()) {
    result.push_back(it->first);
    return result;
  }
  if (!isPattern(pattern))
    return result;
  for (const auto &[name, row] : rows)
    if (nameMatches(pattern, name))
      result.push_back(name);
  return result;
}

SmallVector<StringRef> ModuleTree::inside(StringRef module) const {
  SmallVector<StringRef> result;
  for (const auto &[name, row] : rows)
    if (name != module && isInside(name, module))
      result.push_back(name);
  return result;
}

SmallVector<Suggestion>
ModuleTree::nearest(StringRef pattern, ArrayRef<StringRef> parameters) const {
  SmallVector<StringRef> wanted;
  pattern.split(wanted, '.');
  SmallVector<StringRef> names =
      llvm::map_to_vector(rows, [](const auto &row) { return row.first; });
  llvm::append_range(names, parameters);
  std::vector<Suggestion> moved = otherPrefixes(pattern, names);
  if (!moved.empty()) {
    moved.resize(std::min<size_t>(moved.size(), 3));
    return {moved.begin(), moved.end()};
  }
  // A name is suggested as a pattern: with the user's own pattern where it
  // matches, or stars for numbers where segments cannot be paired.
  SmallVector<Suggestion> candidates;
  for (StringRef name : names) {
    if (name.empty())
      continue;
    SmallVector<StringRef> segments;
    name.split(segments, '.');
    bool isPaired = segments.size() == wanted.size();
    for (auto [i, segment] : llvm::enumerate(segments)) {
      if (isPaired && isPattern(wanted[i]) && nameMatches(wanted[i], segment))
        segment = wanted[i];
      else if (!isPaired && isPattern(pattern) &&
               llvm::all_of(segment, llvm::isDigit))
        segment = "*";
    }
    std::string text = llvm::join(segments, ".");
    auto it = llvm::find_if(candidates, [&](const Suggestion &candidate) {
      return candidate.name == text;
    });
    if (it == candidates.end())
      candidates.push_back({std::move(text), 1});
    else
      ++it->matches;
  }
  // Names that end alike are nearer than any other.
  SmallVector<std::pair<unsigned, Suggestion>> ranked;
  unsigned limit = std::max<size_t>(3, pattern.size() / 2), far = 2 * limit;
  for (const Suggestion &candidate : candidates) {
    ArrayRef<char> name(candidate.name.data(), candidate.name.size());
    unsigned distance = llvm::ComputeEditDistance(
        ArrayRef<char>(pattern.data(), pattern.size()), name,
        /*AllowReplacements=*/true, far);
    SmallVector<StringRef> segments;
    StringRef(candidate.name).split(segments, '.');
    bool endsAlike = segments.back() == wanted.back();
    if (distance <= (endsAlike ? far : limit))
      ranked.push_back({endsAlike ? distance : distance + far, candidate});
  }
  // Few enough that a quadratic order-keeping sort does.
  for (size_t i = 1; i < ranked.size(); ++i)
    for (size_t j = i; j > 0 && ranked[j].first < ranked[j - 1].first; --j)
      std::swap(ranked[j], ranked[j - 1]);
  SmallVector<Suggestion> result;
  for (auto &[distance, suggestion] : ranked) {
    if (result.size() == 3 || distance > ranked.front().first + 2)
      break;
    result.push_back(suggestion);
  }
  return result;
}

//===- ForgottenWeights.cpp - warnings of weights plans forget ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForgottenWeights.h"
#include "WeightFinder.h"
#include "mlir/IR/Diagnostics.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "tp/Transforms/Plan/NamePattern.h"
#include "tp/Transforms/Plan/WrittenPatterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace tp;

using Split = ForgottenWeight::Split;

/// Names of parameters or of their modules, and whether an entry names them.
using IsNamed = std::map<std::string, bool>;

namespace {
/// Forgotten weights that are split by entries of one kind.
struct Forgotten {
  /// `text` of a name: why it is forgotten, and what is written behind the
  /// name.
  std::vector<WrittenName> names;
  IsNamed isNamed;
};
} // namespace

/// Why a weight is forgotten, behind "every rank holds it whole, though".
static StringRef reasonOf(Split split, bool several) {
  switch (split) {
  case Split::Input:
    return several ? "entries split their input" : "entries split its input";
  case Split::Sum:
  case Split::Result:
    return several ? "it multiplies by parts of them"
                   : "it multiplies by a part of it";
  }
  llvm_unreachable("not a split");
}

static StringRef styleOf(Split split) {
  return split == Split::Result ? "colwise" : "rowwise";
}

/// Warns of each pattern of names. `before` and `behind` are around the pattern
/// in an entry that splits the weights.
static void warn(const Forgotten &forgotten, ArrayRef<ForgottenWeight> weights,
                 StringRef ofWhat, StringRef before,
                 llvm::function_ref<std::string(ForgottenWeight)> behind,
                 StringRef whole, Location location) {
  // A pattern that something named has too would give that a second entry.
  auto namedLike = [&](StringRef pattern) {
    SmallVector<StringRef> named;
    for (const auto &[name, isNamed] : forgotten.isNamed)
      if (isNamed && nameMatches(pattern, name))
        named.push_back(name);
    return named;
  };
  for (const auto &[pattern, number] : asPatterns(forgotten.names, namedLike)) {
    llvm::StringSet<> alike;
    for (const WrittenName &each : forgotten.names)
      if (nameMatches(pattern, each.name))
        alike.insert(each.name);
    size_t count = alike.size();
    InFlightDiagnostic warning = emitWarning(location)
                                 << "no plan entry names '" << pattern << "'";
    if (count > 1)
      warning << " (" << count << " " << ofWhat << ")";
    warning << ": every rank holds "
            << (ofWhat == "weights"
                    ? (count > 1 ? "them" : "it")
                    : (count > 1 ? "their weights" : "its weight"))
            << " whole, though " << reasonOf(weights[number].split, count > 1);
    warning.attachNote() << "to split the product too, write '" << before
                         << "\"" << pattern << "\" " << behind(weights[number])
                         << "'; to keep it whole, '" << whole << "'";
  }
}

/// Whether an entry names a module beside that of the weight, in a module that
/// holds both.
static bool hasNamedSibling(StringRef weight, const IsNamed &modules) {
  StringRef own = weight.rsplit('.').first;
  auto [parent, last] = own.rsplit('.');
  return !last.empty() && llvm::any_of(modules, [&](const auto &module) {
    StringRef name = module.first;
    return module.second && name != own && name.contains('.') &&
           name.rsplit('.').first == parent;
  });
}

/// The parameters that entries store in shards; nothing where entries split
/// work too, other than by data.
static std::optional<llvm::StringSet<>>
shardedInStorageAlone(ArrayAttr bindings) {
  llvm::StringSet<> found;
  for (auto binding : bindings.getAsRange<DictionaryAttr>()) {
    auto style = binding.getAs<StringAttr>("style");
    if (!style)
      return std::nullopt;
    if (style.getValue() == "fully_shard")
      for (auto value :
           binding.getAs<ArrayAttr>("values").getAsRange<DictionaryAttr>())
        found.insert(value.getAs<StringAttr>("loc").getValue());
    else if (style.getValue() != "argument" && style.getValue() != "result" &&
             style.getValue() != "recompute")
      return std::nullopt;
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found));
}

/// Warns of parameters that belong to no module that a plan fully shards.
static void warnOfUnsharded(const IsNamed &parameters,
                            const llvm::StringSet<> &sharded,
                            const llvm::StringSet<> &numbers,
                            Location location) {
  SmallVector<StringRef> whole;
  for (const auto &[name, isNamed] : parameters)
    if (!isNamed && !sharded.contains(name) && !numbers.contains(name))
      whole.push_back(name);
  if (whole.empty())
    return;
  InFlightDiagnostic warning = emitWarning(location)
                               << "no module that the plan shards has '"
                               << whole.front() << "'";
  if (whole.size() > 1)
    warning << " and " << whole.size() - 1 << " more";
  warning << ": every rank holds " << (whole.size() > 1 ? "them" : "it")
          << " whole";
  warning.attachNote() << "to shard what other entries leave, write "
                          "'tp.fully_shard \"\"'";
}

void tp::warnOfForgottenWeights(ModuleOp module, Location location) {
  auto bindings = module->getAttrOfType<ArrayAttr>(attr::bindings);
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  // Where tp chooses the layouts nothing is forgotten.
  if (!bindings || bindings.empty() || !mesh ||
      mesh.getValue().numRanks() == 1 || module->hasAttr(attr::autoAxes))
    return;
  BoundArguments bound(bindings);
  // Styles are for modules with a matrix; other weights are arguments.
  Forgotten modules, arguments;
  // A number stays whole.
  llvm::StringSet<> numbers;
  std::vector<ForgottenWeight> weights;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto kind = function.getArgAttrOfType<StringAttr>(i, attr::kind);
      auto name = function.getArgAttrOfType<StringAttr>(i, attr::name);
      if (!kind || kind.getValue() != "parameter" || !name)
        continue;
      bool isNamed = bound.containsParameter(i, name.getValue());
      arguments.isNamed[name.str()] |= isNamed;
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (type && type.hasStaticShape() && type.getNumElements() == 1)
        numbers.insert(name.getValue());
      if (name.getValue().contains('.'))
        modules.isNamed[name.getValue().rsplit('.').first.str()] |= isNamed;
    }
  }
  if (auto sharded = shardedInStorageAlone(bindings))
    return warnOfUnsharded(arguments.isNamed, *sharded, numbers, location);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    WeightFinder finder(function, bound);
    finder.find();
    for (const auto &[name, weight] : finder.found) {
      // What is split without entries around it is so by tp's own choice.
      if (weight.split == Split::Result &&
          !hasNamedSibling(name, modules.isNamed))
        continue;
      std::string text =
          styleOf(weight.split).str() + reasonOf(weight.split, false).str();
      if (weight.rank == 2 && name.contains('.'))
        modules.names.push_back(
            {name.rsplit('.').first.str(), text, weights.size()});
      else
        arguments.names.push_back(
            {name.str(), text + std::to_string(weight.dim), weights.size()});
      weights.push_back(weight);
    }
  }
  warn(
      modules, weights, "modules", "tp.parallelize ",
      [](ForgottenWeight weight) {
        return "with " + styleOf(weight.split).str();
      },
      "with replicate", location);
  warn(
      arguments, weights, "weights", "tp.argument ",
      [](ForgottenWeight weight) {
        return "shard<" + std::to_string(weight.dim) + ">";
      },
      "replicate", location);
}

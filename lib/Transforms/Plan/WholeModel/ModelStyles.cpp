//===- ModelStyles.cpp - styles of whole models become entries ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/ModelStyles.h"
#include "WholeModel/ModelEntries.h"
#include "mlir/Parser/Parser.h"
#include "tp/IR/PlanStyle.h"
#include "tp/Transforms/Plan/ExpandedPlan.h"
#include "tp/Transforms/Plan/WrittenPatterns.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

namespace {
/// The entries of one plan's style.
class Expansion {
public:
  Expansion(PlanOp plan, ParallelizeOp entry, ArrayRef<func::FuncOp> functions)
      : plan(plan), entry(entry), functions(functions),
        builder(entry.getOperation()) {}

  LogicalResult run();

private:
  LogicalResult collect();
  void warnOfWholeStream();
  /// Whether an entry that the user wrote names it too.
  bool isNamed(const ModelEntry &made, const PortNames &arguments,
               const PortNames &results);
  LogicalResult create(ModelEntry::Kind kind, StringRef name,
                       const ModelEntry &made);

  PlanOp plan;
  ParallelizeOp entry;
  ArrayRef<func::FuncOp> functions;
  OpBuilder builder;
  std::vector<ModelEntry> entries;
  llvm::StringSet<> known;
  /// Of all functions.
  SmallVector<ModuleTree> trees;
  std::vector<StringRef> parameters;
};
} // namespace

bool Expansion::isNamed(const ModelEntry &made, const PortNames &arguments,
                        const PortNames &results) {
  auto matches = [&](Attribute port, const PortNames &names) {
    if (auto position = dyn_cast<IntegerAttr>(port))
      return llvm::is_contained(names.find(made.name),
                                static_cast<unsigned>(position.getInt()));
    StringRef pattern = cast<StringAttr>(port).getValue();
    return pattern == made.name || nameMatches(pattern, made.name);
  };
  for (Operation &each : plan.getBody().front()) {
    if (auto other = dyn_cast<ParallelizeOp>(each)) {
      const StyleName *style = lookupStyle(other.getStyle());
      if (isOfModel(style->kind) || made.kind == ModelEntry::Result)
        continue;
      if (nameMatches(other.getPattern(), made.name))
        return true;
    } else if (auto other = dyn_cast<ArgumentOp>(each)) {
      // The weight of a module is pinned by its own name.
      if (made.kind != ModelEntry::Result &&
          (matches(other.getPort(), arguments) ||
           (isa<StringAttr>(other.getPort()) &&
            nameMatches(cast<StringAttr>(other.getPort()).getValue(),
                        made.name + ".weight"))))
        return true;
    } else if (auto other = dyn_cast<ResultOp>(each)) {
      if (made.kind == ModelEntry::Result && matches(other.getPort(), results))
        return true;
    }
  }
  return false;
}

LogicalResult Expansion::collect() {
  bool isTransformer =
      lookupStyle(entry.getStyle())->kind == StyleKind::Transformer;
  auto isOn = [&](StringRef option) {
    auto value = entry.getOptions().getAs<BoolAttr>(option);
    return value && value.getValue();
  };
  bool splitsSequence = isTransformer && isOn("sequence_parallel");
  for (func::FuncOp function : functions)
    if (splitsSequence && !hasSequence(function)) {
      splitsSequence = false;
      InFlightDiagnostic warning =
          entry.emitWarning()
          << "style transformer leaves out sequence_parallel: the sequence of @"
          << function.getSymName() << " has one row";
      if (functions.size() > 1)
        warning << ", and a plan is for all entries";
    }
  bool isAnyMatched = false;
  for (func::FuncOp function : functions) {
    FailureOr<ModuleTree> tree = ModuleTree::build(function);
    if (failed(tree))
      return failure();
    PortNames arguments(function, PortSide::Argument);
    PortNames results(function, PortSide::Result);
    SmallVector<StringRef> scopes = tree->match(entry.getPattern());
    if (entry.getPattern().empty())
      scopes = {StringRef()};
    for (StringRef scope : scopes) {
      isAnyMatched = true;
      TransformerOptions options{splitsSequence, isOn("loss_parallel"), scope};
      for (ModelEntry &made : isTransformer
                                  ? transformerEntries(function, *tree, options)
                                  : batchEntries(function))
        if (!isNamed(made, arguments, results) &&
            known.insert(std::to_string(made.kind) + made.name).second)
          entries.push_back(std::move(made));
    }
    trees.push_back(std::move(*tree));
    for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
      parameters.push_back(
          function.getArgAttrOfType<StringAttr>(i, attr::name)
              ? function.getArgAttrOfType<StringAttr>(i, attr::name).getValue()
              : StringRef());
  }
  if (!isAnyMatched)
    return entry.emitError()
           << "no module matches '" << entry.getPattern() << "', style "
           << entry.getStyle() << " is for a model or a module with blocks";
  warnOfWholeStream();
  if (!entries.empty())
    return success();
  if (isTransformer)
    return entry.emitError()
           << "style " << entry.getStyle() << " found no block of a transformer"
           << (entry.getPattern().empty()
                   ? ""
                   : " in '" + entry.getPattern().str() + "'")
           << ": expected sums of a value and what linear layers make of it, "
              "whose weights are arguments of kind \"parameter\"";
  return entry.emitError()
         << "style " << entry.getStyle()
         << " found no batch: expected an argument of kind \"user_input\" with "
            "two or more dimensions, the first of more than 1";
}

void Expansion::warnOfWholeStream() {
  SmallVector<StringRef> names;
  for (const ModelEntry &made : entries)
    if (made.leavesSequence)
      names.push_back(made.name);
  if (names.empty())
    return;
  InFlightDiagnostic warning =
      entry.emitWarning() << "style " << entry.getStyle()
                          << " leaves the layout of the sequence to tp at '"
                          << names.front() << "'";
  if (names.size() > 1)
    warning << " and " << names.size() - 1 << " other"
            << (names.size() > 2 ? "s" : "");
  warning << ": sequence_parallel is for modules that have one matrix each, "
             "and these weights are parameters of a larger module, stacked "
             "over layers, or no matrices";
}

LogicalResult Expansion::create(ModelEntry::Kind kind, StringRef name,
                                const ModelEntry &made) {
  bool isPort = kind == ModelEntry::Argument || kind == ModelEntry::Result;
  std::string source = "tp.plan @made on ";
  llvm::raw_string_ostream os(source);
  os << plan.getMeshAttr() << "[\"" << plan.getAxis() << "\"]"
     << (plan->hasAttr(optionalPlan) ? " optional" : "") << " { tp."
     << (kind == ModelEntry::Argument ? "argument"
         : kind == ModelEntry::Result ? "result"
                                      : "parallelize")
     << " " << StringAttr::get(plan.getContext(), name)
     << (isPort ? " " : " with ") << made.text << " }";
  OwningOpRef<ModuleOp> parsed =
      parseSourceString<ModuleOp>(source, plan.getContext());
  if (!parsed)
    return entry.emitError() << "cannot write the entry of '" << name << "'";
  Block &body = (*parsed->getOps<PlanOp>().begin()).getBody().front();
  Operation *op = &body.front();
  op->setLoc(entry.getLoc());
  op->moveBefore(entry);
  if (!made.reason.empty())
    entry.emitWarning() << "style " << entry.getStyle() << " has no place for '"
                        << name << "', whose weight every rank holds whole: "
                        << made.reason << "; an entry for it says otherwise";
  return success();
}

LogicalResult Expansion::run() {
  if (failed(collect()))
    return failure();
  for (ModelEntry::Kind kind : {ModelEntry::Module, ModelEntry::Parameter,
                                ModelEntry::Argument, ModelEntry::Result}) {
    std::vector<WrittenName> names;
    for (auto [i, made] : llvm::enumerate(entries))
      if (made.kind == kind)
        names.push_back({made.name, made.text + "\n" + made.reason, i});
    auto matching = [&](StringRef pattern) {
      SmallVector<StringRef> found;
      for (const ModuleTree &tree : trees)
        llvm::append_range(found, tree.match(pattern));
      if (kind == ModelEntry::Module)
        return found;
      // Each result by itself.
      if (kind == ModelEntry::Result)
        return SmallVector<StringRef>{""};
      // A name of a parameter that a module has too is the module's.
      if (kind == ModelEntry::Parameter && !found.empty())
        return SmallVector<StringRef>{""};
      found.clear();
      for (StringRef name : parameters)
        if (nameMatches(pattern, name))
          found.push_back(name);
      return found;
    };
    for (const auto &[pattern, number] : asPatterns(names, matching))
      if (failed(create(kind, pattern, entries[number])))
        return failure();
  }
  entry.erase();
  return success();
}

/// Entries of a plan that is a word have the lines that --write-plan gives
/// them.
static void numberLines(ArrayRef<PlanOp> plans) {
  unsigned line = 1;
  auto at = [&](MLIRContext *context) {
    return FileLineColLoc::get(context, transformerPlanName, ++line, 1);
  };
  for (PlanOp plan : plans) {
    plan->setLoc(at(plan.getContext()));
    for (Operation &entry : plan.getBody().front())
      entry.setLoc(at(plan.getContext()));
    ++line;
  }
}

static bool hasModelStyle(ArrayRef<PlanOp> plans) {
  return llvm::any_of(plans, [](PlanOp plan) {
    return llvm::any_of(plan.getBody().getOps<ParallelizeOp>(),
                        [](ParallelizeOp entry) {
                          return isOfModel(lookupStyle(entry.getStyle())->kind);
                        });
  });
}

/// Ranks that share parameters have a part of the batch each: a plan with
/// tp.fully_shard that names no input of the model, and no sequence to shard,
/// gets `data_parallel`.
static void addDataParallel(PlanOp plan, ArrayRef<func::FuncOp> functions) {
  auto entries = plan.getBody().getOps<FullyShardOp>();
  auto isOfData = [](ParallelizeOp entry) {
    StyleKind kind = lookupStyle(entry.getStyle())->kind;
    return kind == StyleKind::DataParallel ||
           (kind == StyleKind::ContextParallel && entry.getPattern().empty());
  };
  if (entries.empty() ||
      llvm::any_of(plan.getBody().getOps<ParallelizeOp>(), isOfData) ||
      llvm::all_of(functions, [](func::FuncOp function) {
        return batchEntries(function).empty();
      }))
    return;
  for (func::FuncOp function : functions) {
    PortNames names(function, PortSide::Argument);
    for (auto entry : plan.getBody().getOps<ArgumentOp>())
      for (unsigned port = 0; port < function.getNumArguments(); ++port) {
        if (names.kind(port) != "user_input")
          continue;
        auto position = dyn_cast<IntegerAttr>(entry.getPort());
        auto name = dyn_cast<StringAttr>(entry.getPort());
        if (position
                ? position.getInt() == port
                : name == names.name(port) || name == names.qualified(port) ||
                      nameMatches(name.getValue(), names.name(port)))
          return;
      }
  }
  FullyShardOp first = *entries.begin();
  OpBuilder builder(first);
  ParallelizeOp::create(builder, first.getLoc(), "",
                        toString(StyleKind::DataParallel),
                        builder.getDictionaryAttr({}));
}

LogicalResult tp::expandModelStyles(ArrayRef<PlanOp> plans,
                                    ArrayRef<func::FuncOp> functions) {
  for (PlanOp plan : plans)
    addDataParallel(plan, functions);
  if (!hasModelStyle(plans))
    return success();
  for (PlanOp plan : plans)
    for (ParallelizeOp entry :
         llvm::make_early_inc_range(plan.getBody().getOps<ParallelizeOp>()))
      if (isOfModel(lookupStyle(entry.getStyle())->kind) &&
          failed(Expansion(plan, entry, functions).run()))
        return failure();
  auto loc = dyn_cast<FileLineColLoc>(plans.front()->getLoc());
  if (loc && isPlanWord(loc.getFilename().getValue()))
    numberLines(plans);
  return success();
}

FailureOr<std::string>
tp::expandedPlan(StringRef plan, StringRef mesh, ModuleOp model,
                 llvm::function_ref<LogicalResult(ModuleOp)> legalize) {
  FailureOr<PlanFile> file = readPlan(model, plan, mesh);
  if (failed(file))
    return failure();
  if (!hasModelStyle(file->plans))
    return std::string();
  OwningOpRef<ModuleOp> legal = model.clone();
  if (failed(legalize(*legal)))
    return failure();
  SmallVector<func::FuncOp> functions;
  for (auto function : legal->getOps<func::FuncOp>())
    if (!function.isDeclaration())
      functions.push_back(function);
  if (failed(expandModelStyles(file->plans, functions)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  file->file->print(os, OpPrintingFlags().enableDebugInfo());
  return text;
}

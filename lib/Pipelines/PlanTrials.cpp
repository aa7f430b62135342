//===- PlanTrials.cpp - what a changed plan would send --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTrials.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tp/Files/TemporaryFile.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ParseSource.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Plans with edits
//===----------------------------------------------------------------------===//

/// Each plan takes as long as a compilation without code: fewer are tried where
/// the program has many ops.
static unsigned mostTried(ModuleOp model) {
  size_t ops = 0;
  for (auto function : model.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      ops += block.getOperations().size();
  constexpr size_t mostOps = 100'000;
  return std::clamp<size_t>(mostOps / std::max<size_t>(ops, 1), 4, 32);
}

PlanTrials::PlanTrials(ModuleOp model, const PartitionOptions &given)
    : model(model), options(given), most(mostTried(model)) {
  options.explain = options.remarks = false;
  // Standard input cannot be read again.
  if (options.plan.empty() || isPlanWord(options.plan) || options.plan == "-")
    return;
  ScopedDiagnosticHandler silence(model.getContext(),
                                  [](Diagnostic &) { return success(); });
  plans = parseSource(options.plan, "the plan", model.getContext());
}

/// The entries of `text` in a plan like `plan`.
static OwningOpRef<ModuleOp> entriesOf(StringRef text, PlanOp plan) {
  std::string source = "tp.plan @edit on ";
  llvm::raw_string_ostream(source)
      << plan.getMeshAttr() << plan.getAxes() << " {\n"
      << text << "\n}\n";
  return parseSourceString<ModuleOp>(source, plan.getContext());
}

/// The plan that gets new entries for an axis: its own, or the first that is
/// for others too.
static PlanOp planOf(StringRef axis, ModuleOp plans) {
  PlanOp found;
  for (auto plan : plans.getOps<PlanOp>())
    if (plan.hasAxis(axis) && (!found || plan.getAxes().size() == 1))
      found = plan;
  return found;
}

static Block &entriesIn(ModuleOp plans) {
  return (*plans.getOps<PlanOp>().begin()).getBody().front();
}

/// The entry of `body` for the same port as the one entry of `made`, or null.
static Operation *samePort(Block &made, Block &body) {
  if (!llvm::hasSingleElement(made) || !isa<ArgumentOp, ResultOp>(made.front()))
    return nullptr;
  Operation &entry = made.front();
  for (Operation &other : body)
    if (other.getName() == entry.getName() &&
        other.getAttr("port") == entry.getAttr("port"))
      return &other;
  return nullptr;
}

/// The options of an entry that go on with another style: those that this style
/// has too. Layouts are of the style that they are written for.
static NamedAttrList keptBy(StringRef style, DictionaryAttr options) {
  NamedAttrList kept;
  for (const StyleOption &known : styleOptions(lookupStyle(style)->kind))
    if (Attribute value = options.get(known.name);
        value && known.kind != OptionKind::Layouts &&
        known.kind != OptionKind::KeywordLayouts)
      kept.set(known.name, value);
  return kept;
}

std::string PlanTrials::replacedBy(const PlanEdit &edit) const {
  if (plans && edit.at.empty())
    if (PlanOp plan = planOf(edit.axis, plans.get()))
      if (OwningOpRef<ModuleOp> made = entriesOf(edit.text, plan))
        if (Operation *other =
                samePort(entriesIn(*made), plan.getBody().front()))
          return entryText(other->getLoc());
  return "";
}

bool PlanTrials::add(const PlanEdit &edit, ModuleOp plans) {
  PlanOp plan = planOf(edit.axis, plans);
  OwningOpRef<ModuleOp> made;
  if (plan)
    made = entriesOf(edit.text, plan);
  if (!made)
    return false;
  Block &entries = entriesIn(*made), &body = plan.getBody().front();
  // A port has one entry.
  if (Operation *other = samePort(entries, body))
    other->erase();
  body.getOperations().splice(body.end(), entries.getOperations());
  return true;
}

std::optional<size_t> PlanTrials::change(const PlanEdit &edit, PlanOp plan) {
  size_t found = 0;
  for (auto entry : llvm::make_early_inc_range(
           plan.getBody().front().getOps<ParallelizeOp>())) {
    if (!llvm::is_contained(edit.at, entryText(entry.getLoc())))
      continue;
    ++found;
    if (edit.removes) {
      entry.erase();
      continue;
    }
    StringRef style = edit.style.empty() ? entry.getStyle() : edit.style;
    OwningOpRef<ModuleOp> made =
        entriesOf(("tp.parallelize \"\" with " + style +
                   (edit.text.empty() ? "" : " {" + edit.text + "}"))
                      .str(),
                  plan);
    if (!made)
      return std::nullopt;
    NamedAttrList merged(entry.getOptions());
    if (!edit.style.empty()) {
      merged = keptBy(edit.style, entry.getOptions());
      entry.setStyle(edit.style);
    }
    for (NamedAttribute option :
         cast<ParallelizeOp>(entriesIn(*made).front()).getOptions())
      merged.set(option.getName(), option.getValue());
    entry.setOptionsAttr(merged.getDictionary(entry.getContext()));
  }
  return found;
}

bool PlanTrials::apply(const PlanEdit &edit, ModuleOp plans) {
  if (edit.at.empty())
    return add(edit, plans);
  // An entry for several axes may be in a plan for each.
  bool isChanged = false;
  for (auto plan : plans.getOps<PlanOp>()) {
    std::optional<size_t> found = change(edit, plan);
    if (!found || (*found && *found != edit.at.size()))
      return false;
    isChanged |= *found > 0;
  }
  return isChanged;
}

std::optional<TrialPartition> PlanTrials::partition(ArrayRef<PlanEdit> edits) {
  if (!plans || tried >= most)
    return std::nullopt;
  ++tried;
  ScopedDiagnosticHandler silence(model.getContext(),
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> changed = plans->clone();
  for (const PlanEdit &edit : edits)
    if (!apply(edit, *changed))
      return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text) << *changed << "\n";
  TemporaryFile file;
  if (!file.create(".plan.mlir", text).ok())
    return std::nullopt;
  PartitionOptions with = options;
  with.plan = file.path().str();
  FailureOr<TrialPartition> trial = tryPartition(model, with);
  if (failed(trial))
    return std::nullopt;
  return std::move(*trial);
}

std::optional<int64_t> PlanTrials::ringBytes(ArrayRef<PlanEdit> edits) {
  std::optional<TrialPartition> trial = partition(edits);
  return trial ? std::optional(trial->rank.ringBytes) : std::nullopt;
}

std::optional<TrialPartition> PlanTrials::unchanged() {
  std::optional<TrialPartition> trial = partition({});
  if (trial || !options.noImplicitCollectives)
    return trial;
  options.noImplicitCollectives = false;
  trial = partition({});
  options.noImplicitCollectives = true;
  return trial;
}

ParallelizeOp PlanTrials::entryAt(StringRef place) const {
  if (plans)
    for (auto plan : plans.get().getOps<PlanOp>())
      for (auto entry : plan.getBody().getOps<ParallelizeOp>())
        if (entryText(entry.getLoc()) == place)
          return entry;
  return {};
}

std::vector<std::string> PlanTrials::places() const {
  std::vector<std::string> places;
  if (plans)
    for (auto plan : plans.get().getOps<PlanOp>())
      for (auto entry : plan.getBody().getOps<ParallelizeOp>())
        places.push_back(entryText(entry.getLoc()));
  return places;
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

static constexpr StringLiteral writeIt = "to ask for it, write '";

/// `to ask for it, write 'TEXT' in the plan` or `... at this entry, PLACES`.
static std::optional<PlanEdit> editOf(StringRef advice, StringRef axis) {
  if (!advice.consume_front(writeIt))
    return std::nullopt;
  auto [text, where] = advice.rsplit('\'');
  PlanEdit edit{axis.split(':').first.str(), text.str(), {}};
  if (where.starts_with(" in the plan"))
    return edit;
  if (!where.consume_front(" at this entry, "))
    return std::nullopt;
  while (!where.empty()) {
    edit.at.push_back(where.split(", ").first.str());
    where = where.split(", ").second;
  }
  return edit;
}

/// Module `layers.7.norm` as `layers.*.norm`.
static std::string forAllLayers(StringRef text) {
  auto [before, rest] = text.split('"');
  auto [module, after] = rest.split('"');
  if (after.empty())
    return text.str();
  SmallVector<StringRef> parts;
  module.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return (before + "\"" + llvm::join(parts, ".") + "\"" + after).str();
}

namespace {
/// Advice that differs in the layer alone.
struct AdviceGroup {
  PlanEdit forAll;
  /// By advice.
  std::map<std::string, PlanEdit> edits;
  std::vector<json::Object *> changes;
};
} // namespace

static std::string adviceText(const PlanEdit &edit) {
  return writeIt.str() + edit.text + "'" +
         (edit.at.empty() ? " in the plan"
                          : " at this entry, " + llvm::join(edit.at, ", "));
}

/// `adviceText`, with the entry that the edit replaces.
static std::string placedText(const PlanEdit &edit, const PlanTrials &trials) {
  std::string replaced = trials.replacedBy(edit);
  return replaced.empty()
             ? adviceText(edit)
             : writeIt.str() + edit.text + "' in place of " + replaced;
}

/// Writes into the report which of the edits send no more than `bytes`, alone
/// and with those `taken` before, and takes them.
static void tryGroup(AdviceGroup &group, int64_t bytes,
                     SmallVector<PlanEdit> &taken, PlanTrials &trials) {
  unsigned left = trials.left();
  std::optional<int64_t> least;
  auto isGood = [&](ArrayRef<PlanEdit> edits) {
    std::optional<int64_t> with = trials.ringBytes(edits);
    if (with)
      least = std::min(*with, least.value_or(*with));
    return with && *with <= bytes;
  };
  auto take = [&](ArrayRef<PlanEdit> edits) {
    SmallVector<PlanEdit> together = taken;
    llvm::append_range(together, edits);
    if (!isGood(edits) || (!taken.empty() && !isGood(together)))
      return false;
    taken = std::move(together);
    return true;
  };
  auto write = [&](const std::string &text) {
    for (json::Object *change : group.changes)
      (*change)["implicit"] = text;
  };
  if (group.edits.size() > 1 && take(group.forAll))
    return write(placedText(group.forAll, trials));
  SmallVector<PlanEdit> all;
  for (const auto &[advice, edit] : group.edits)
    all.push_back(edit);
  if (take(all)) {
    if (all.size() == 1)
      write(placedText(all.front(), trials));
    return;
  }
  unsigned tried = left - trials.left();
  std::string why = "'" + group.forAll.text + "' ";
  if (!tried)
    why = "no plan was left to try";
  else if (!least)
    why += "does not compile";
  else if (*least > bytes)
    why += "sends " + std::to_string(*least - bytes) + " bytes more";
  else
    why += "sends more together with other advice";
  write("no entry was found that asks for it and sends no more bytes: " + why +
        (tried ? " (plans tried: " + std::to_string(tried) + ")" : ""));
}

void tp::tryAdvice(json::Object &report, PlanTrials &trials) {
  std::map<std::string, AdviceGroup> groups;
  json::Array *collectives = report.getArray("collectives");
  for (json::Value &value : *collectives) {
    json::Object *cause = value.getAsObject()->getObject("cause");
    json::Array *changes = cause ? cause->getArray("changes") : nullptr;
    if (!changes)
      continue;
    for (json::Value &each : *changes) {
      json::Object &change = *each.getAsObject();
      std::optional<StringRef> advice = change.getString("implicit");
      if (!advice)
        continue;
      std::optional<PlanEdit> edit =
          editOf(*advice, change.getString("axis").value_or(""));
      if (!edit)
        continue;
      PlanEdit forAll = *edit;
      if (forAll.at.empty())
        forAll.text = forAllLayers(forAll.text);
      AdviceGroup &group = groups[adviceText(forAll) + " on " + forAll.axis];
      group.forAll = forAll;
      group.edits.insert({advice->str(), *edit});
      group.changes.push_back(&change);
    }
  }
  if (groups.empty())
    return;
  std::optional<int64_t> bytes = trials.ringBytes({});
  if (!bytes)
    return;
  SmallVector<PlanEdit> taken;
  for (auto &[key, group] : groups)
    tryGroup(group, *bytes, taken, trials);
}

//===- CheaperPlans.cpp - changes of entries that send less ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheaperPlans.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

bool CheaperPlans::Change::changes(StringRef place) const {
  return llvm::any_of(edits, [&](const PlanEdit &edit) {
    return llvm::is_contained(edit.at, place);
  });
}

/// Whether each argument, then each result of the model is one that callers
/// give or get, and no parameter or its next value.
static std::vector<bool> areCallers(ModuleOp model) {
  std::vector<bool> callers;
  auto add = [&](StringAttr kind) {
    callers.push_back(!kind || kind.getValue().starts_with("user_"));
  };
  for (auto function : model.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      add(function.getArgAttrOfType<StringAttr>(i, attr::kind));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      add(function.getResultAttrOfType<StringAttr>(i, attr::kind));
  }
  return callers;
}

bool CheaperPlans::isSound(const TrialPartition &trial) const {
  if (trial.rank.weightsBytes > before->rank.weightsBytes ||
      trial.layouts.size() != before->layouts.size())
    return false;
  std::vector<bool> callers = areCallers(trials.program());
  bool isKnown = callers.size() == trial.layouts.size();
  for (size_t i = 0; i < trial.layouts.size(); ++i)
    if ((!isKnown || callers[i]) && trial.layouts[i] != before->layouts[i])
      return false;
  return true;
}

std::vector<PlanEdit> CheaperPlans::otherStyles(StringRef place) const {
  ParallelizeOp entry = trials.entryAt(place);
  const StyleName *style = entry ? lookupStyle(entry.getStyle()) : nullptr;
  if (!style ||
      (style->kind != StyleKind::Colwise && style->kind != StyleKind::Rowwise))
    return {};
  PlanEdit edit{"", "", {place.str()}, "rowwise"};
  if (style->kind == StyleKind::Colwise)
    return {edit};
  edit.style = "colwise";
  PlanEdit whole = edit;
  // What a rowwise module delivers unless its entry states another layout.
  whole.text = "output_layouts = [replicate]";
  return {whole, edit};
}

static std::string textOf(ArrayRef<PlanEdit> edits, const PlanTrials &trials) {
  std::vector<std::string> texts;
  for (const PlanEdit &edit : edits)
    if (edit.removes)
      texts.push_back("nothing in place of " + edit.at.front());
    else if (edit.style.empty())
      texts.push_back("'" + edit.text + "' at this entry, " + edit.at.front());
    else
      texts.push_back(("'tp.parallelize \"" +
                       trials.entryAt(edit.at.front()).getPattern() +
                       "\" with " + edit.style +
                       (edit.text.empty() ? "" : " {" + edit.text + "}") +
                       "' in place of " + edit.at.front())
                          .str());
  return llvm::join(texts, ", and ");
}

void CheaperPlans::tryChange(ArrayRef<PlanEdit> edits, unsigned &count) {
  std::string text = textOf(edits, trials);
  if (!seen.insert(text).second)
    return;
  if (!trials.left()) {
    isStopped = true;
    return;
  }
  ++count;
  Places &places = tried.emplace_back();
  for (const PlanEdit &edit : edits)
    llvm::append_range(places, edit.at);
  std::optional<TrialPartition> trial = trials.partition(edits);
  if (!trial || !isSound(*trial)) {
    ++failures;
    return;
  }
  int64_t saved = before->rank.ringBytes - trial->rank.ringBytes;
  // Of equal ones the first: it changes less, and asks for more.
  if (saved > 0)
    cheaper.insert(llvm::upper_bound(cheaper, saved,
                                     [](int64_t saved, const Change &other) {
                                       return saved > other.saved;
                                     }),
                   {text, edits.vec(), saved});
  else
    least = std::min(-saved, least.value_or(-saved));
}

std::vector<CheaperPlans::Places>
CheaperPlans::neighbours(ArrayRef<std::string> places) {
  std::vector<Places> groups;
  for (size_t i = 0; i < places.size(); ++i)
    groups.push_back(places.slice(i).take_front(2).vec());
  return groups;
}

void CheaperPlans::searchOutputs(ArrayRef<PlanEdit> edits) {
  if (!before)
    before = trials.unchanged();
  for (const PlanEdit &edit : edits)
    if (before && trials.entryAt(edit.at.front()))
      tryChange(edit, outputs);
}

void CheaperPlans::search(ArrayRef<Places> groups) {
  if (!before)
    before = trials.unchanged();
  if (!before)
    return;
  for (const Places &places : groups)
    for (const std::string &place : places) {
      for (const PlanEdit &edit : otherStyles(place))
        tryChange(edit, styles);
      ParallelizeOp entry = trials.entryAt(place);
      const StyleName *style = entry ? lookupStyle(entry.getStyle()) : nullptr;
      if (!style)
        continue;
      if (otherStyles(place).empty()) {
        PlanEdit edit{"", "", {place}};
        edit.removes = true;
        tryChange(edit, removals);
        continue;
      }
      DictionaryAttr options = entry.getOptions();
      if (options.get("input_layouts") || options.get("output_layouts") ||
          style->replicatedInput || style->replicatedOutput)
        tryChange(PlanEdit{"", "", {place}, toString(style->kind).str()},
                  withoutLayouts);
    }
  for (const Places &places : groups)
    for (size_t i = 1; i < places.size(); ++i) {
      std::vector<PlanEdit> one = otherStyles(places[i - 1]),
                            other = otherStyles(places[i]);
      if (!one.empty() && !other.empty())
        tryChange({one.back(), other.back()}, pairs);
    }
}

unsigned CheaperPlans::numTried(ArrayRef<std::string> places) const {
  return llvm::count_if(tried, [&](const Places &changed) {
    return llvm::any_of(changed, [&](const std::string &place) {
      return llvm::is_contained(places, place);
    });
  });
}

std::string CheaperPlans::summary() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!before)
    return text;
  if (total() == 0)
    return "other plans: none tried, no entry is around a collective";
  os << "other plans: " << total() << " tried (";
  if (outputs)
    os << outputs << " with outputs as they are read, ";
  os << styles << " with another style, " << withoutLayouts
     << " without layouts, ";
  if (removals)
    os << removals << " without an entry, ";
  os << pairs << " with two other styles)";
  if (isStopped)
    os << ", no more of a program of this size";
  if (!cheaper.empty())
    os << "; the best sends " << cheaper.front().saved
       << " bytes less: " << cheaper.front().text;
  else if (least)
    os << "; the best sends " << *least << " bytes more";
  if (failures)
    os << "; " << failures
       << " do not compile, hold more of the weights, or change what callers "
          "give or get";
  return text;
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

/// The entries that pin the values of a cause, each once.
static CheaperPlans::Places placesOf(const json::Object &cause) {
  CheaperPlans::Places places;
  const json::Array *changes = cause.getArray("changes");
  for (const json::Value &change : changes ? *changes : json::Array())
    if (const json::Array *pins = change.getAsObject()->getArray("pins"))
      for (const json::Value &pin : *pins) {
        std::optional<StringRef> entry = pin.getAsObject()->getString("entry");
        if (entry && !llvm::is_contained(places, *entry))
          places.push_back(entry->str());
      }
  return places;
}

/// The options that would reduce values to what their readers take.
static void addOutputs(const json::Object &cause,
                       std::vector<PlanEdit> &edits) {
  const json::Array *changes = cause.getArray("changes");
  for (const json::Value &value : changes ? *changes : json::Array()) {
    const json::Object &change = *value.getAsObject();
    if (const json::Object *toTake = change.getObject("to_take"))
      edits.push_back({change.getString("axis")->split(':').first.str(),
                       toTake->getString("option")->str(),
                       {toTake->getString("at")->str()}});
  }
}

std::string tp::adviseCheaper(json::Object &report, PlanTrials &trials) {
  if (trials.places().empty())
    return "";
  std::vector<CheaperPlans::Places> groups;
  std::vector<json::Object *> causes;
  std::vector<PlanEdit> outputs;
  for (json::Value &collective : *report.getArray("collectives"))
    if (json::Object *cause = collective.getAsObject()->getObject("cause")) {
      causes.push_back(cause);
      groups.push_back(placesOf(*cause));
      addOutputs(*cause, outputs);
    }
  CheaperPlans plans(trials);
  plans.searchOutputs(outputs);
  plans.search(groups);
  for (auto [cause, places] : llvm::zip_equal(causes, groups)) {
    if (unsigned count = plans.numTried(places))
      (*cause)["plans_tried"] = count;
    for (const CheaperPlans::Change &change : plans.found())
      if (llvm::any_of(places, [&](const std::string &place) {
            return change.changes(place);
          })) {
        (*cause)["cheaper"] = json::Object{
            {"advice", change.text}, {"ring_bytes_per_rank", -change.saved}};
        break;
      }
  }
  return plans.summary();
}

LogicalResult tp::remarkingCheaper(ModuleOp model,
                                   const PartitionOptions &options,
                                   llvm::function_ref<LogicalResult()> run) {
  if (!model || !options.noImplicitCollectives)
    return run();
  CheaperPlans::Places named;
  auto add = [&](Location at) {
    std::string place = entryText(at);
    if (!place.empty() && !llvm::is_contained(named, place))
      named.push_back(place);
  };
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler errors(
        model.getContext(), [&](Diagnostic &diagnostic) {
          add(diagnostic.getLocation());
          for (Diagnostic &note : diagnostic.getNotes())
            add(note.getLocation());
          return failure(); // the next handler shows it
        });
    result = run();
  }
  if (succeeded(result) || named.empty())
    return result;
  PlanTrials trials(model, options);
  CheaperPlans plans(trials);
  plans.search(CheaperPlans::neighbours(named));
  if (plans.found().empty())
    return result;
  const CheaperPlans::Change &best = plans.found().front();
  trials.entryAt(best.edits.front().at.front()).emitRemark()
      << "to avoid collectives that no plan entry asks for, and send "
      << best.saved << " bytes less, write " << best.text;
  return result;
}
